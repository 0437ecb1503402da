import { type Dirent, stat as statWithCallback } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { DEFAULT_TENANT, type FrameRef, type Handle, isHandle } from '@svc/frames';
import { createYield } from '@svc/frames/async';
import { hasCode } from '@svc/objects/internal';
import type { FrameFiles } from '../../files/frame-files.ts';
import {
  type FileName,
  folderOfTenant,
  FOREIGN_FORMATS,
  type ForeignFormat,
  parseFileName,
} from '../catalogue/frame-names.ts';
import type { ForeignSource, StoredFrame } from '../catalogue/stored-frame.ts';
import { versionOfFile } from '../../wire/file-layout.ts';

/** Foreign frames: files copied into the directory, and tables of a database. They are read-only. */
export interface ForeignFrames {
  /** Finds the frame with exactly this handle, from the current file. */
  find(ref: FrameRef): Promise<StoredFrame | undefined>;
  /** Lists all names, sorted by handle. Of several names in different case, returns the one with precedence. */
  names(tenant: string): Promise<readonly ForeignName[]>;
  /** Loads the frame of a name from the current file; undefined if the file is gone. */
  load(tenant: string, name: ForeignName): Promise<StoredFrame | undefined>;
}

/** Options of `createForeignFrames`. */
interface ForeignOptions extends TableOptions {
  readonly directory: string;
  /** True if Arrow and JSON files can be read. */
  readonly hasDecoders: boolean;
  /** Called with a frame whose file has changed or is gone. */
  readonly onLeave: (frame: StoredFrame) => void;
}

/** Returns the folders with the files of a tenant's frames. Files in the directory itself belong to the default tenant. */
function foldersOfTenant(directory: string, tenant: string): readonly string[] {
  const own = join(directory, folderOfTenant(tenant));
  return tenant === DEFAULT_TENANT ? [own, directory] : [own];
}

/**
 * Returns the folders for SQL of a tenant. With other tenants, the directory is not one: it has their folders.
 */
export function sqlFoldersOfTenant(directory: string, tenant: string, hasTenants: boolean): readonly string[] {
  return foldersOfTenant(directory, tenant).slice(0, hasTenants ? 1 : undefined);
}

/** Creates the foreign frames of a directory. */
export function createForeignFrames(options: ForeignOptions): ForeignFrames {
  const { directory, hasDecoders, onLeave } = options;
  const formats = FOREIGN_FORMATS.filter((format) => hasDecoders || !isDecoded(format));
  const listings = new Map<string, FolderListing<ForeignFile>>();
  const { load, keepOnly } = createLoader(onLeave);
  const tables = createTableList(options);
  /** The sorted names of each tenant, and their listings. */
  const known = new Map<string, { readonly from: readonly unknown[]; readonly names: readonly ForeignName[] }>();

  const foldersOf = (tenant: string): readonly string[] => foldersOfTenant(directory, tenant);

  async function list(folder: string): Promise<ReadonlyMap<string, ForeignFile>> {
    const listing =
      listings.get(folder) ??
      createFolderListing(folder, (name) => {
        const file = parseFileName(name);
        return file.kind === 'foreign' ? file : undefined;
      });
    listings.set(folder, listing);
    const files = await listing();
    keepOnly(folder, files);
    return files;
  }

  const tablesOf = async (tenant: string): Promise<readonly ForeignName[]> =>
    tenant === DEFAULT_TENANT ? tables() : NO_NAMES;

  return {
    async find({ tenant, handle }) {
      const files = formats.flatMap((format) =>
        foldersOf(tenant).map((folder) => ({ format, folder, name: `${handle}.${format}` })),
      );
      // This also forgets missing files.
      const loaded = await Promise.all(
        files.map(({ format, folder, name }) => load(tenant, { handle, source: sourceOf(format, join(folder, name)) })),
      );
      for (const [at, frame] of loaded.entries()) {
        const file = files[at];
        // A case-insensitive file system finds a file under other names than its own. The listing decides: it is read only
        // if there is a file, because that of a busy folder is read every time.
        if (frame && file && (await list(file.folder)).has(file.name)) return frame;
      }
      const table = (await tablesOf(tenant)).find((one) => one.handle === handle);
      return table && load(tenant, table);
    },
    async names(tenant) {
      const folders = foldersOf(tenant);
      const files = await Promise.all(folders.map(list));
      const tableNames = await tablesOf(tenant);
      const from = [...files, tableNames];
      const before = known.get(tenant);
      if (before?.from.every((listing, at) => listing === from[at])) return before.names;
      const best = new Map<string, { readonly rank: number; readonly name: ForeignName }>();
      const add = (rank: number, name: ForeignName): void => {
        const key = name.handle.toLowerCase();
        if (rank < (best.get(key)?.rank ?? Infinity)) best.set(key, { rank, name });
      };
      const pause = createYield();
      for (const [at, folder] of folders.entries()) {
        for (const [name, { handle, format }] of files[at] ?? []) {
          await pause();
          const rank = formats.indexOf(format);
          if (rank >= 0) add(rank, { handle, source: sourceOf(format, join(folder, name)) });
        }
      }
      for (const table of tableNames) add(formats.length, table);
      // Sorting ten thousand names takes some milliseconds: in a turn of its own.
      await setImmediate();
      const names = [...best.values()].map(({ name }) => name).toSorted((a, b) => (a.handle < b.handle ? -1 : 1));
      known.set(tenant, { from, names });
      await setImmediate();
      return names;
    },
    load,
  };
}

type ForeignFile = Extract<FileName, { kind: 'foreign' }>;

const NO_NAMES: readonly ForeignName[] = [];

/** True if the decoders of uploads read a format. */
function isDecoded(format: ForeignFormat): boolean {
  return format === 'arrow' || format === 'json' || format === 'ndjson' || format === 'jsonl';
}

function sourceOf(format: ForeignFormat, path: string): ForeignSource {
  if (format === 'tsv') return { kind: 'csv', path, delimiter: '\t' };
  if (format === 'csv.gz') return { kind: 'gzip_csv', path };
  return { kind: format === 'jsonl' ? 'ndjson' : format, path };
}

/** Takes a third less CPU time than `stat` of `node:fs/promises`, and is most of a long list. */
const statFile = promisify(statWithCallback);

interface Loader extends Pick<ForeignFrames, 'load'> {
  /** Forgets the frames of a folder whose files are not in its listing. */
  readonly keepOnly: (folder: string, files: ReadonlyMap<string, unknown>) => void;
}

/** Loads frames from the current files. Returns the same frame as long as its file does not change. */
function createLoader(onLeave: (frame: StoredFrame) => void): Loader {
  /** By folder and name; a table by its database and name. */
  const folders = new Map<string, Map<string, StoredFrame>>();
  const checked = new WeakSet<ReadonlyMap<string, unknown>>();

  return {
    async load(tenant, { handle, source }) {
      const file = await ifThere(statFile(source.path, { bigint: true }));
      const folder = source.kind === 'table' ? source.path : dirname(source.path);
      const frames = folders.get(folder) ?? new Map<string, StoredFrame>();
      folders.set(folder, frames);
      const key = source.kind === 'table' ? source.table : basename(source.path);
      const version = file?.isFile() ? versionOfFile(file) : undefined;
      const known = frames.get(key);
      if (known?.version === version) return known;
      frames.delete(key);
      if (known) onLeave(known);
      if (file === undefined || version === undefined) return undefined;
      const frame: StoredFrame = {
        tenant,
        handle,
        version,
        created: file.mtime,
        source,
        isForeign: true,
        expires: null,
        contents: undefined,
        // The size of a table in its database is not known.
        fileBytes: source.kind === 'table' ? 0 : Number(file.size),
        readers: 0,
      };
      frames.set(key, frame);
      return frame;
    },
    keepOnly(folder, files) {
      if (checked.has(files)) return;
      checked.add(files);
      for (const [name, frame] of folders.get(folder) ?? []) {
        if (files.has(name)) continue;
        folders.get(folder)?.delete(name);
        onLeave(frame);
      }
    },
  };
}

/** A file or table, possibly a frame. */
export interface ForeignName {
  readonly handle: Handle;
  readonly source: ForeignSource;
}

/** Options of `createTableList`. */
interface TableOptions {
  readonly duckdbPath: string | undefined;
  readonly isReadOnly: boolean;
  readonly files: FrameFiles;
  /** Called if the database cannot be read. */
  readonly onBrokenDatabase: (cause: unknown) => void;
}

/** Creates a list of the tables of the database. It is refreshed when the file changes. */
function createTableList({
  duckdbPath: path,
  files,
  isReadOnly,
  onBrokenDatabase,
}: TableOptions): () => Promise<readonly ForeignName[]> {
  let seen: { readonly stamp: string; readonly names: Promise<readonly ForeignName[]> } | undefined;
  if (path === undefined) return async () => [];
  const stampOf = async (file: string): Promise<string> => {
    const status = await statFile(file, { bigint: true }).catch(() => undefined);
    return status ? versionOfFile(status) : '';
  };
  return async () => {
    const [database, log] = await Promise.all([stampOf(path), stampOf(`${path}.wal`)]);
    // Listing the tables of a missing file would create it.
    if (database === '' && isReadOnly) return [];
    const stamp = `${database} ${log}`;
    if (seen?.stamp !== stamp) {
      const names = listTables(files, path).then((tables) =>
        tables.filter(isHandle).map((handle) => ({ handle, source: { kind: 'table' as const, path, table: handle } })),
      );
      seen = { stamp, names: names.catch((cause: unknown) => (onBrokenDatabase(cause), [])) };
    }
    return seen.names;
  };
}

/** Lists the tables of a database, if it is a regular file or missing: opening a FIFO would block forever. */
async function listTables(files: FrameFiles, path: string): Promise<readonly string[]> {
  const status = await statFile(path).catch(() => undefined);
  if (status !== undefined && !status.isFile()) throw new Error('The database is not a regular file.');
  return files.tables(path);
}

/** Lists the files in a folder by name. Returns the same map until the folder may have changed. */
type FolderListing<File> = () => Promise<ReadonlyMap<string, File>>;

/** Timestamps are coarse: a folder can change again this soon without a new timestamp. */
const SETTLED_MS = 2000;

/**
 * Creates a listing of the files at `path` whose names `parse` knows. A missing folder has none. An unreadable one
 * is an error: its frames would seem not to exist.
 */
function createFolderListing<File>(path: string, parse: (name: string) => File | undefined): FolderListing<File> {
  const none = new Map<string, File>();
  let seen: { readonly stamp: string; readonly files: ReadonlyMap<string, File> } | undefined;
  return async () => {
    const folder = await ifThere(statFile(path, { bigint: true }));
    if (folder === undefined) return none;
    const stamp = `${folder.ino} ${folder.mtimeNs}`;
    if (seen?.stamp === stamp) return seen.files;
    const isSettled = Date.now() - Number(folder.mtimeMs) > SETTLED_MS;
    const pause = createYield();
    const files = new Map<string, File>();
    for (const entry of (await ifThere(readdir(path, { withFileTypes: true }))) ?? []) {
      await pause();
      const file = canBeFile(entry) ? parse(entry.name) : undefined;
      if (file !== undefined) files.set(entry.name, file);
    }
    seen = isSettled ? { stamp, files } : undefined;
    return files;
  };
}

/** Resolves with undefined if a file or folder does not exist. */
async function ifThere<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')) return undefined;
    throw error;
  }
}

/** True for links, whose targets can change without the folder changing, and on file systems without kinds. */
function canBeFile(entry: Dirent): boolean {
  const isOther = entry.isFIFO() || entry.isSocket() || entry.isBlockDevice() || entry.isCharacterDevice();
  return !entry.isDirectory() && !isOther;
}
