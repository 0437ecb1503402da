import { readdir, rm } from 'node:fs/promises';
import { createYield } from '@svc/frames/async';
import { findNotTakenOver, takeOver, type TakeOverOptions } from './format-1/take-over.ts';
import { isFolder, listTenant } from './frame-folders.ts';
import { tenantOfFolder } from './frame-names.ts';
import { addSlot, slotOf, type TenantSlots } from './frame-slots.ts';
import { forEachConcurrently } from './tenant-folder.ts';

/** Options of `listSlots`. */
export interface ListSlotsOptions extends TakeOverOptions {
  readonly directory: string;
  readonly isReadOnly: boolean;
}

/**
 * Finds the folders of all frames, and takes over those of format 1. Removes folders that were being dropped, and
 * files that earlier versions of the program did not publish.
 */
export async function listSlots(tenantOf: (name: string) => TenantSlots, options: ListSlotsOptions): Promise<void> {
  const { directory, isReadOnly } = options;
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const name = tenantOfFolder(entry.name);
    if (name === undefined || !(await isFolder(entry, directory))) continue;
    const tenant = tenantOf(name);
    let { keys, unfinished, isOld } = await listTenant(tenant.path);
    if (!isOld) tenant.notTakenOver.clear();
    else if (isReadOnly) await findNotTakenOver(directory, tenant);
    else {
      await takeOver(tenant, options);
      ({ keys } = await listTenant(tenant.path));
    }
    const pause = createYield();
    for (const key of keys) {
      await pause();
      addSlot(slotOf(tenant, key));
    }
    if (!isReadOnly) await forEachConcurrently(unfinished, (path) => rm(path, { recursive: true, force: true }));
  }
}
