import { forEachConcurrently, type TenantFolder, type VersionName } from './tenant-folder.ts';

/** The files of one handle, ignoring case. */
export interface ScannedHandle {
  /** The newest version, if it is not dropped. */
  current: VersionName | undefined;
  /** Null if it never expires. */
  expires: Date | null;
  /** Replaced or dropped versions. */
  readonly left: VersionName[];
  readonly tombstones: VersionName[];
  /** The paths of all parts. */
  readonly parts: string[];
  /** The newest version or tombstone. */
  floor: string;
}

/** The contents of a folder. The newest version of a handle is current, unless a tombstone is at least as new. */
export interface ScannedFolder {
  /** By lowercase handle. */
  readonly handles: ReadonlyMap<string, ScannedHandle>;
  /** Paths of files that were never published. */
  readonly unfinished: readonly string[];
  /** Expiry files of missing versions. */
  readonly orphans: readonly VersionName[];
  /** Versions whose expiry file is not valid. */
  readonly ambiguous: readonly VersionName[];
  /** Versions whose move was interrupted. If its target is published, the version counts as dropped. */
  readonly moves: readonly ScannedMove[];
}

/** A move that was interrupted, or is in progress. */
export interface ScannedMove {
  readonly name: VersionName;
  readonly isPublished: boolean;
}

/** Reads a folder. */
export async function scanFolder(folder: TenantFolder): Promise<ScannedFolder> {
  const handles = new Map<string, ScannedHandle>();
  const unfinished: string[] = [];
  const expiries: VersionName[] = [];
  const moving: VersionName[] = [];
  const ofHandle = (handle: string): ScannedHandle => {
    const key = handle.toLowerCase();
    const known = handles.get(key) ?? {
      current: undefined,
      expires: null,
      left: [],
      tombstones: [],
      parts: [],
      floor: '',
    };
    handles.set(key, known);
    return known;
  };
  for (const { path, file } of await folder.scan()) {
    if (file.kind === 'unfinished') unfinished.push(path);
    if (!('version' in file)) continue;
    const { handle, version } = file;
    const name = { handle, version, isManifest: file.kind === 'manifest' };
    if (file.kind === 'expiry') expiries.push(name);
    else if (file.kind === 'move') moving.push(name);
    else if (file.kind === 'tombstone') ofHandle(handle).tombstones.push(name);
    else if (file.kind === 'part') ofHandle(handle).parts.push(path);
    else addVersion(ofHandle(handle), name);
  }
  for (const known of handles.values()) applyTombstones(known);
  const moves = await readMoves(folder, handles, moving);
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
  return { handles, unfinished, orphans, ambiguous, moves };
}

/** Reads the moves, and applies those whose target is published: until the move is complete, that is its current version. */
async function readMoves(
  folder: TenantFolder,
  handles: ReadonlyMap<string, ScannedHandle>,
  moving: readonly VersionName[],
): Promise<readonly ScannedMove[]> {
  const moves: ScannedMove[] = [];
  for (const name of moving) {
    const target = await folder.readMove(name);
    const found = target && handles.get(target.handle.toLowerCase())?.current;
    const isPublished = found !== undefined && found.version === target?.version;
    moves.push({ name, isPublished });
    const known = handles.get(name.handle.toLowerCase());
    if (!isPublished || known === undefined) continue;
    known.tombstones.push(name);
    applyTombstones(known);
  }
  return moves;
}

function addVersion(known: ScannedHandle, version: VersionName): void {
  if (known.current === undefined || version.version > known.current.version) {
    if (known.current) known.left.push(known.current);
    known.current = version;
  } else {
    known.left.push(version);
  }
}

function applyTombstones(known: ScannedHandle): void {
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
