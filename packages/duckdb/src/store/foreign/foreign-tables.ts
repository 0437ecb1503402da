import { stat } from 'node:fs/promises';
import { type Handle, isHandle } from '@svc/frames';
import { versionOfFile } from '../../wire/file-version.ts';
import type { FrameFiles } from '../../files/frame-files.ts';
import type { ForeignSource } from '../catalogue/stored-frame.ts';

/** A file or table that may be a frame. */
export interface ForeignName {
  readonly handle: Handle;
  readonly source: ForeignSource;
}

/** Options of `createTableList`. */
export interface TableOptions {
  readonly duckdbPath: string | undefined;
  readonly isReadOnly: boolean;
  readonly files: FrameFiles;
  /** Called if the database cannot be read. */
  readonly onBrokenDatabase: (cause: unknown) => void;
}

/** Creates a list of the tables of the database, which is refreshed when the file changes. */
export function createTableList({
  duckdbPath: path,
  files,
  isReadOnly,
  onBrokenDatabase,
}: TableOptions): () => Promise<readonly ForeignName[]> {
  let seen: { readonly stamp: string; readonly names: Promise<readonly ForeignName[]> } | undefined;
  if (path === undefined) return async () => [];
  const stampOf = async (file: string): Promise<string> => {
    const status = await stat(file, { bigint: true }).catch(() => undefined);
    return status ? versionOfFile(status) : '';
  };
  return async () => {
    const [database, log] = await Promise.all([stampOf(path), stampOf(`${path}.wal`)]);
    // Listing the tables of a missing file would create it.
    if (database === '' && isReadOnly) return [];
    const stamp = `${database} ${log}`;
    if (seen?.stamp !== stamp) {
      const names = tablesOf(files, path).then((tables) =>
        tables.filter(isHandle).map((handle) => ({ handle, source: { kind: 'table' as const, path, table: handle } })),
      );
      seen = { stamp, names: names.catch((cause: unknown) => (onBrokenDatabase(cause), [])) };
    }
    return seen.names;
  };
}

/** Lists the tables of a database that is a regular file or missing: opening a FIFO would block forever. */
async function tablesOf(files: FrameFiles, path: string): Promise<readonly string[]> {
  const status = await stat(path).catch(() => undefined);
  if (status !== undefined && !status.isFile()) throw new Error('The database is not a regular file.');
  return files.tables(path);
}
