import { stat } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { DEFAULT_TENANT, type FrameRef } from '@svc/frames';
import { createYield } from '@svc/frames/internal';
import { readStart } from '../../disk/read-start.ts';
import { isUtf16 } from '../../files/csv-text.ts';
import { versionOfFile } from '../../wire/file-version.ts';
import { createFolderListing, type FolderListing, ifThere } from './folder-listing.ts';
import { createTableList, type ForeignName, type TableOptions } from './foreign-tables.ts';
import {
  type FileName,
  FOREIGN_FORMATS,
  type ForeignFormat,
  folderOfTenant,
  parseFileName,
} from '../catalogue/frame-names.ts';
import type { ForeignSource, StoredFrame } from '../catalogue/stored-frame.ts';
import { notATable } from '../store-errors.ts';

/** Foreign frames: files copied into the directory, and tables of a database. They are read-only. */
export interface ForeignFrames {
  /** Finds the frame with exactly this handle, from the current file. */
  find(ref: FrameRef): Promise<StoredFrame | undefined>;
  /** Lists all names, sorted by handle. Of several that differ only in case, returns the one with precedence. */
  names(tenant: string): Promise<readonly ForeignName[]>;
  /** Loads the frame of a name from the current file; undefined if the file is gone. */
  load(tenant: string, name: ForeignName): Promise<StoredFrame | undefined>;
}

/** Options of `createForeignFrames`. */
export interface ForeignOptions extends TableOptions {
  readonly directory: string;
  /** Whether Arrow and JSON files can be read. */
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
 * Returns the folders that SQL of a tenant may read. If there are others, the directory is not one: it has their
 * folders.
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
  /** The sorted names of each tenant, and the listings that they are from. */
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
      // This also forgets files that are gone.
      const loaded = await Promise.all(
        files.map(({ format, folder, name }) => load(tenant, { handle, source: sourceOf(format, join(folder, name)) })),
      );
      for (const [at, frame] of loaded.entries()) {
        const file = files[at];
        // On a case-insensitive file system, a file is found under other names than its own. The list of a folder that
        // changes often is read again every time, so it is read only if there is a file.
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

/** Whether files of a format are read by the decoders of uploads. */
function isDecoded(format: ForeignFormat): boolean {
  return format === 'arrow' || format === 'json' || format === 'ndjson' || format === 'jsonl';
}

function sourceOf(format: ForeignFormat, path: string): ForeignSource {
  if (format === 'tsv') return { kind: 'csv', path, delimiter: '\t' };
  if (format === 'csv.gz') return { kind: 'gzip_csv', path };
  return { kind: format === 'jsonl' ? 'ndjson' : format, path };
}

/** Takes a third less CPU time than that of `node:fs/promises`, and is most of a long list. */
const statFile = promisify(stat);

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
        isManifest: false,
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

/**
 * Corrects what the name of a foreign file tells by its first bytes. DuckDB reads CSV only in UTF-8, and an object of JSON
 * is not a table.
 */
export async function inspectSource(frame: StoredFrame): Promise<void> {
  const { source, handle } = frame;
  if (source.kind !== 'csv' && source.kind !== 'json') return;
  // A file that cannot be read is an error when it is described.
  const head = await readStart(source.path, HEAD_BYTES).catch(() => Buffer.alloc(0));
  if (source.kind === 'csv') {
    const { path, delimiter } = source;
    if (isUtf16(head)) frame.source = { kind: 'utf16_csv', path, ...(delimiter && { delimiter }) };
  } else if (/^[^[]/.test(head.toString().replace(/^[\s\uFEFF]+/, ''))) {
    frame.isTable = false;
    frame.failure = notATable(handle);
  }
}

/** Enough for a byte order mark, or for some spaces. */
const HEAD_BYTES = 64;
