import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DEFAULT_TENANT, type FrameRef } from '@svc/frames';
import { readStart } from '../../disk/read-start.ts';
import { isUtf16 } from '../../files/csv-text.ts';
import { versionOfFile } from '../../wire/file-version.ts';
import { createFolderListing, type FolderListing, ifThere } from './folder-listing.ts';
import { createTableList, type ForeignName, type TableOptions } from './foreign-tables.ts';
import { FOREIGN_FORMATS, type ForeignFormat, folderOfTenant, parseFileName } from '../catalogue/frame-names.ts';
import type { ForeignSource, StoredFrame } from '../catalogue/stored-frame.ts';
import { notATable } from '../store-errors.ts';

/** Foreign frames: files copied into the directory, and tables of a database. They are read-only. */
export interface ForeignFrames {
  /** Finds the frame with exactly this handle, from the current file. */
  find(ref: FrameRef): Promise<StoredFrame | undefined>;
  /** Lists all names. Of several that differ only in case, returns the one with precedence. */
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
  const listings = new Map<string, FolderListing>();
  const load = createLoader(onLeave);
  const tables = createTableList(options);

  const foldersOf = (tenant: string): readonly string[] => foldersOfTenant(directory, tenant);

  function list(folder: string): Promise<readonly string[]> {
    const listing =
      listings.get(folder) ?? createFolderListing(folder, (name) => parseFileName(name).kind === 'foreign');
    listings.set(folder, listing);
    return listing();
  }

  const tablesOf = async (tenant: string): Promise<readonly ForeignName[]> =>
    tenant === DEFAULT_TENANT ? tables() : [];

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
        if (frame && file && (await list(file.folder)).includes(file.name)) return frame;
      }
      const table = (await tablesOf(tenant)).find((one) => one.handle === handle);
      return table && load(tenant, table);
    },
    async names(tenant) {
      const found = new Map<string, ForeignName>();
      const add = (name: ForeignName): void => {
        const key = name.handle.toLowerCase();
        if (!found.has(key)) found.set(key, name);
      };
      const folders = await Promise.all(
        foldersOf(tenant).map(async (folder) => ({ folder, names: (await list(folder)).map(parseNamed) })),
      );
      for (const format of formats) {
        for (const { folder, names } of folders) {
          for (const { file, name } of names) {
            if (file.kind === 'foreign' && file.format === format) {
              add({ handle: file.handle, source: sourceOf(format, join(folder, name)) });
            }
          }
        }
      }
      for (const table of await tablesOf(tenant)) add(table);
      return [...found.values()];
    },
    load,
  };
}

/** Whether files of a format are read by the decoders of uploads. */
function isDecoded(format: ForeignFormat): boolean {
  return format === 'arrow' || format === 'json' || format === 'ndjson' || format === 'jsonl';
}

function sourceOf(format: ForeignFormat, path: string): ForeignSource {
  if (format === 'tsv') return { kind: 'csv', path, delimiter: '\t' };
  if (format === 'csv.gz') return { kind: 'gzip_csv', path };
  return { kind: format === 'jsonl' ? 'ndjson' : format, path };
}

/** Loads frames from the current files. Returns the same frame as long as its file does not change. */
function createLoader(onLeave: (frame: StoredFrame) => void): ForeignFrames['load'] {
  const frames = new Map<string, StoredFrame>();
  return async (tenant, { handle, source }) => {
    const file = await ifThere(stat(source.path, { bigint: true }));
    const key = JSON.stringify([tenant, source]);
    const version = file?.isFile() ? versionOfFile(file) : undefined;
    if (frames.get(key)?.version === version) return frames.get(key);
    const found = version === undefined ? { source } : await inspect(handle, source);
    // Another caller may have been faster.
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
      ...found,
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
  };
}

/** What the first bytes of a file tell. DuckDB reads CSV only in UTF-8, and an object of JSON is not a table. */
async function inspect(
  handle: string,
  source: ForeignSource,
): Promise<Pick<StoredFrame, 'source' | 'failure' | 'isTable'>> {
  if (source.kind !== 'csv' && source.kind !== 'json') return { source };
  // A file that cannot be read is an error when it is described.
  const head = await readStart(source.path, HEAD_BYTES).catch(() => Buffer.alloc(0));
  if (source.kind === 'json') {
    const isOther = /^[^[]/.test(head.toString().replace(/^[\s\uFEFF]+/, ''));
    return isOther ? { source, isTable: false, failure: notATable(handle) } : { source };
  }
  const { path, delimiter } = source;
  return { source: isUtf16(head) ? { kind: 'utf16_csv', path, ...(delimiter && { delimiter }) } : source };
}

/** Enough for a byte order mark, or for some spaces. */
const HEAD_BYTES = 64;

function parseNamed(name: string): { readonly name: string; readonly file: ReturnType<typeof parseFileName> } {
  return { name, file: parseFileName(name) };
}
