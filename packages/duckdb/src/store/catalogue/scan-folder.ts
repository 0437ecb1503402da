import { forEachConcurrently, type TenantFolder, type VersionName } from './tenant-folder.ts';

/** What a folder holds of one handle (but for letter case). */
export interface ScannedHandle {
  /** The newest version, where it is not dropped. */
  current: VersionName | undefined;
  /** Null: it expiries for ever. */
  expires: Date | null;
  /** Versions that are replaced or dropped. */
  readonly left: VersionName[];
  readonly tombstones: VersionName[];
  /** The newest version or tombstone there is. */
  floor: string;
}

/** What a folder holds: the newest version of a handle counts, unless a tombstone is as new. */
export interface ScannedFolder {
  /** By handle in lower case. */
  readonly handles: ReadonlyMap<string, ScannedHandle>;
  /** Paths of files that were never published. */
  readonly unfinished: readonly string[];
  /** Expiry files of versions that are not there. */
  readonly orphans: readonly VersionName[];
  /** Versions whose end cannot be told. */
  readonly ambiguous: readonly VersionName[];
}

/** Reads the catalogue that a folder is. */
export async function scanFolder(folder: TenantFolder): Promise<ScannedFolder> {
  const handles = new Map<string, ScannedHandle>();
  const unfinished: string[] = [];
  const expiries: VersionName[] = [];
  const ofHandle = (handle: string): ScannedHandle => {
    const key = handle.toLowerCase();
    const known = handles.get(key) ?? { current: undefined, expires: null, left: [], tombstones: [], floor: '' };
    handles.set(key, known);
    return known;
  };
  for (const { path, file } of await folder.scan()) {
    if (file.kind === 'unfinished') unfinished.push(path);
    else if (file.kind === 'frame') addVersion(ofHandle(file.handle), file);
    else if (file.kind === 'expiry') expiries.push(file);
    else if (file.kind === 'tombstone') ofHandle(file.handle).tombstones.push(file);
  }
  for (const known of handles.values()) writeTombstone(known);
  const orphans: VersionName[] = [];
  const ambiguous: VersionName[] = [];
  await forEachConcurrently(expiries, async (expiry) => {
    const known = handles.get(expiry.handle.toLowerCase());
    if (known?.current?.version !== expiry.version) {
      if (!known?.left.some(({ version }) => version === expiry.version)) orphans.push(expiry);
      return;
    }
    const expires = await folder.readExpiry(expiry);
    if (expires === undefined) ambiguous.push(expiry);
    else known.expires = expires;
  });
  return { handles, unfinished, orphans, ambiguous };
}

function addVersion(known: ScannedHandle, version: VersionName): void {
  if (known.current === undefined || version.version > known.current.version) {
    if (known.current) known.left.push(known.current);
    known.current = version;
  } else {
    known.left.push(version);
  }
}

function writeTombstone(known: ScannedHandle): void {
  const newest = known.tombstones.reduce((greatest, { version }) => (version > greatest ? version : greatest), '');
  known.floor = newest;
  if (known.current === undefined) return;
  if (known.current.version > newest) {
    known.floor = known.current.version;
  } else {
    known.left.push(known.current);
    known.current = undefined;
  }
}
