import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type CatalogueEntries, type Entry, frameOf, type Tenant } from './catalogue-entries.ts';
import type { StoreProblem } from './store-problem.ts';
import type { FrameRemovals } from './frame-removals.ts';
import { tenantOfFolder } from './frame-names.ts';
import { type ScannedFolder, scanFolder } from './scan-folder.ts';
import { forEachConcurrently, type TenantFolder } from './tenant-folder.ts';

/** Options of `loadCatalogue`. */
export interface LoadOptions {
  readonly directory: string;
  readonly entries: CatalogueEntries;
  /** Changes nothing in the directory. */
  readonly isReadOnly: boolean;
  readonly removals: Pick<FrameRemovals, 'setExpires'>;
  readonly onProblem: (problem: StoreProblem) => void;
}

/** Loads the entries from the directory, and completes the removals that earlier processes left unfinished. */
export async function loadCatalogue(options: LoadOptions): Promise<void> {
  const { directory, entries } = options;
  for (const folder of await readdir(directory, { withFileTypes: true })) {
    const name = tenantOfFolder(folder.name);
    if (name !== undefined && (await isFolder(folder, directory))) await loadTenant(entries.tenantOf(name), options);
  }
}

/** Follows symbolic links. */
async function isFolder(entry: Dirent, directory: string): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isDirectory();
  return (await stat(join(directory, entry.name)).catch(() => undefined))?.isDirectory() ?? false;
}

async function loadTenant(tenant: Tenant, { isReadOnly, removals, onProblem }: LoadOptions): Promise<void> {
  const { folder, name } = tenant;
  const scanned = await scanFolder(folder);
  const entries = new Map<string, Entry>();
  for (const [key, { current, expires, floor }] of scanned.handles) {
    if (current === undefined) continue;
    const known = tenant.entries.get(key)?.current;
    const frame = known?.version === current.version ? known : frameOf(tenant, current);
    removals.setExpires(frame, expires);
    entries.set(key, { current: frame, floor, left: new Set(), tombstones: [] });
  }
  tenant.entries = entries;
  tenant.sorted = undefined;
  for (const { handle } of scanned.ambiguous) {
    onProblem({ kind: 'unreadable_expiry', tenant: name, handle, cause: new Error('The expiry file is not valid.') });
  }
  if (isReadOnly) return;
  // Files that cannot be removed are hidden anyway, and the next start tries again.
  await sweep(folder, scanned).catch((cause: unknown) => {
    onProblem({ kind: 'not_removed', tenant: name, handle: '', cause });
  });
}

async function sweep(folder: TenantFolder, { handles, unfinished, orphans }: ScannedFolder): Promise<void> {
  await forEachConcurrently(unfinished, (path) => folder.discard(path));
  const all = [...handles.values()];
  const left = all.flatMap((handle) => handle.left);
  await folder.remove(
    [...left, ...orphans],
    all.flatMap(({ tombstones }) => tombstones),
  );
}
