import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DEFAULT_TENANT, type FrameRef } from '@svc/frames';
import { versionOfFile } from '../../wire/file-version.ts';
import { createFolderListing, type FolderListing } from './folder-listing.ts';
import { createTableList, type ForeignName, type TableOptions } from './foreign-tables.ts';
import { FOREIGN_FORMATS, folderOfTenant, parseFileName } from '../catalogue/frame-names.ts';
import type { StoredFrame } from '../catalogue/stored-frame.ts';

/** Files that somebody put into the directory, and tables of a database: frames that can only be read. */
export interface ForeignFrames {
  /** The frame of exactly this handle, as its file is now. */
  find(ref: FrameRef): Promise<StoredFrame | undefined>;
  /** The names there are; of several with one name (but for letter case) the one that counts. */
  names(tenant: string): Promise<readonly ForeignName[]>;
  /** The frame of a name, as its file is now; undefined where that is gone. */
  load(tenant: string, name: ForeignName): Promise<StoredFrame | undefined>;
}

/** Where to look. */
export interface ForeignOptions extends TableOptions {
  readonly directory: string;
  readonly hasTenants: boolean;
  readonly hasArrow: boolean;
  /** Hears of a frame whose file has become another. */
  readonly onLeave: (frame: StoredFrame) => void;
}

/** Where the files of a tenant's frames are. */
export function foldersOfTenant(directory: string, tenant: string, hasTenants: boolean): readonly string[] {
  const own = join(directory, folderOfTenant(tenant));
  return tenant === DEFAULT_TENANT && !hasTenants ? [own, directory] : [own];
}

/** The frames of others. */
export function createForeignFrames(options: ForeignOptions): ForeignFrames {
  const { directory, hasTenants, hasArrow, onLeave } = options;
  const formats = FOREIGN_FORMATS.filter((format) => format !== 'arrow' || hasArrow);
  const listings = new Map<string, FolderListing>();
  const load = createLoader(onLeave);
  const tables = createTableList(options);

  const foldersOf = (tenant: string): readonly string[] => foldersOfTenant(directory, tenant, hasTenants);

  function list(folder: string): Promise<readonly string[]> {
    const listing =
      listings.get(folder) ?? createFolderListing(folder, (name) => parseFileName(name).kind === 'foreign');
    listings.set(folder, listing);
    return listing();
  }

  const tablesOf = async (tenant: string): Promise<readonly ForeignName[]> =>
    tenant === DEFAULT_TENANT && !hasTenants ? tables() : [];

  return {
    async find({ tenant, handle }) {
      const files = formats.flatMap((kind) =>
        foldersOf(tenant).map((folder) => ({ kind, folder, name: `${handle}.${kind}` })),
      );
      const loaded = await Promise.all(
        files.map(({ kind, folder, name }) => load(tenant, { handle, source: { kind, path: join(folder, name) } })),
      );
      for (const [at, frame] of loaded.entries()) {
        const file = files[at];
        // Where letter case does not count a file answers to other names than its own.
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
      for (const kind of formats) {
        for (const { folder, names } of folders) {
          for (const { file, name } of names) {
            if (file.kind === 'foreign' && file.format === kind) {
              add({ handle: file.handle, source: { kind, path: join(folder, name) } });
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

/** Frames of files as they are when they are asked for; the same one while its file is the same. */
function createLoader(onLeave: (frame: StoredFrame) => void): ForeignFrames['load'] {
  const frames = new Map<string, StoredFrame>();
  return async (tenant, { handle, source }) => {
    const file = await stat(source.path, { bigint: true }).catch(() => undefined);
    const key = JSON.stringify([tenant, source]);
    const known = frames.get(key);
    const version = file?.isFile() ? versionOfFile(file) : undefined;
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
      // What a table takes of its database is not known.
      fileBytes: source.kind === 'table' ? 0 : Number(file.size),
      readers: 0,
    };
    frames.set(key, frame);
    return frame;
  };
}

function parseNamed(name: string): { readonly name: string; readonly file: ReturnType<typeof parseFileName> } {
  return { name, file: parseFileName(name) };
}
