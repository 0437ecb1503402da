import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type CatalogueEntries, type Entry, frameOf, type Tenant } from './catalogue-entries.ts';
import type { StoreProblem } from './store-problem.ts';
import type { FrameRemovals } from './frame-removals.ts';
import { tenantOfFolder } from './frame-names.ts';
import type { FramePart } from '../../files/frame-files.ts';
import { type ScannedFolder, type ScannedHandle, scanFolder } from './scan-folder.ts';
import { pathsOf, type StoredFrame } from './stored-frame.ts';
import { forEachConcurrently, type TenantFolder, type VersionName } from './tenant-folder.ts';

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
  await forEachConcurrently([...scanned.handles], async ([key, { current, expires, floor }]) => {
    if (current === undefined) return;
    const known = tenant.entries.get(key)?.current;
    const frame = known?.version === current.version ? known : frameOf(tenant, current, await partsOf(folder, current));
    removals.setExpires(frame, expires);
    entries.set(key, { current: frame, floor, left: new Set(), tombstones: [] });
  });
  tenant.entries = entries;
  tenant.sorted = undefined;
  for (const { handle } of scanned.ambiguous) {
    onProblem({ kind: 'unreadable_expiry', tenant: name, handle, cause: new Error('The expiry file is not valid.') });
  }
  if (isReadOnly) return;
  // Files that cannot be removed are hidden anyway, and the next start tries again.
  await sweep(tenant, scanned).catch((cause: unknown) => {
    onProblem({ kind: 'not_removed', tenant: name, handle: '', cause });
  });
}

/** Returns the parts of a version that is a manifest. If it cannot be read now, readers of the frame try again. */
async function partsOf(folder: TenantFolder, version: VersionName): Promise<readonly FramePart[] | undefined> {
  if (!version.isManifest) return undefined;
  const manifest = await folder.readManifest(version).catch(() => undefined);
  return manifest?.parts;
}

async function sweep({ folder, entries }: Tenant, scanned: ScannedFolder): Promise<void> {
  const { handles, unfinished, orphans, moves } = scanned;
  // A move that is not complete would be undone when its target is replaced.
  for (const { name, isPublished } of moves) await folder.settleMove(name, isPublished);
  await forEachConcurrently(unfinished, (path) => folder.discard(path));
  const unused = [...handles].map(([key, handle]) => unusedFiles(folder, handle, entries.get(key)?.current));
  await folder.remove(
    unused.flatMap(({ paths }) => paths),
    [...unused.flatMap(({ versions }) => versions), ...orphans],
    unused.flatMap(({ tombstones }) => tombstones),
  );
}

/** Returns the files of a handle that its current version does not list. */
function unusedFiles(
  folder: TenantFolder,
  { left, parts, tombstones }: ScannedHandle,
  current: StoredFrame | undefined,
): {
  readonly paths: string[];
  readonly versions: readonly VersionName[];
  readonly tombstones: readonly VersionName[];
} {
  const needed = new Set(current && pathsOf(current));
  // A manifest that cannot be read may list any of them.
  if (current && needed.size === 0) return { paths: [], versions: [], tombstones: [] };
  const paths = [...left.map((version) => folder.framePath(version)), ...parts].filter((path) => !needed.has(path));
  return { paths, versions: left, tombstones };
}
