import { join } from 'node:path';
import type { FrameRef } from '@svc/frames';
import type { FramePart } from '../../files/frame-files.ts';
import { folderOfTenant } from './frame-names.ts';
import { timeOfVersion } from './frame-versions.ts';
import type { StoredFrame } from './stored-frame.ts';
import { createTenantFolder, type TenantFolder, type VersionName } from './tenant-folder.ts';

/** The versions of one handle. */
export interface Entry {
  current: StoredFrame | undefined;
  /** The newest version or tombstone ever seen. */
  floor: string;
  /** Replaced or dropped versions; their files are removed when they have no readers. */
  readonly left: Set<StoredFrame>;
  tombstones: readonly VersionName[];
}

/** The entries of one tenant. */
export interface Tenant {
  readonly name: string;
  readonly folder: TenantFolder;
  /** By lowercase handle: two handles of a tenant never differ only in case. */
  entries: Map<string, Entry>;
  /** The frames sorted by handle; undefined after a change. */
  sorted: readonly StoredFrame[] | undefined;
}

/** All entries of all tenants, in memory. */
export interface CatalogueEntries {
  /** Returns a tenant, which is created if it is new. */
  tenantOf(name: string): Tenant;
  entryOf(ref: FrameRef): Entry | undefined;
  all(): Iterable<Entry>;
}

/** Creates an empty set of entries. */
export function createCatalogueEntries(directory: string): CatalogueEntries {
  const tenants = new Map<string, Tenant>();
  return {
    tenantOf(name) {
      const known = tenants.get(name);
      if (known) return known;
      const folder = createTenantFolder(join(directory, folderOfTenant(name)));
      const tenant: Tenant = { name, folder, entries: new Map(), sorted: undefined };
      tenants.set(name, tenant);
      return tenant;
    },
    entryOf: ({ tenant, handle }) => tenants.get(tenant)?.entries.get(handle.toLowerCase()),
    *all() {
      for (const { entries } of tenants.values()) yield* entries.values();
    },
  };
}

/** Creates a frame from the name of a version and its parts, without its contents. */
export function frameOf(
  { name, folder }: Tenant,
  { handle, version, isManifest }: VersionName,
  parts?: readonly FramePart[],
): StoredFrame {
  const only = isManifest ? [] : [{ path: folder.framePath({ handle, version, isManifest }) }];
  return {
    tenant: name,
    handle,
    version,
    created: timeOfVersion(version),
    source: { kind: 'parts', parts: parts ?? only },
    isManifest,
    isForeign: false,
    expires: null,
    contents: undefined,
    fileBytes: parts && bytesOf(parts),
    readers: 0,
  };
}

/** The size of some parts, or undefined if that of one is not known. */
function bytesOf(parts: readonly FramePart[]): number | undefined {
  const bytes = parts.reduce((sum, { size }) => sum + (size?.fileBytes ?? NaN), 0);
  return Number.isNaN(bytes) ? undefined : bytes;
}
