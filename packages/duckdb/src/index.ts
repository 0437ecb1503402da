/**
 * The durable store: frames as Parquet files in a directory, read and written by DuckDB in a process of its own, and SQL
 * over them.
 *
 * ```ts
 * import { createDurableStore, createFrameFiles, createSqlEngine } from '@svc/duckdb';
 * import { parseHandle, streamFromTable } from '@svc/frames';
 * import { tableFromArrays } from 'apache-arrow';
 *
 * const files = createFrameFiles({ tempDirectory: '/tmp' });
 * const store = await createDurableStore({ directory: './data', files });
 * const ref = { tenant: 'default', handle: parseHandle('trades') };
 * await store.put(ref, streamFromTable(tableFromArrays({ id: new BigInt64Array([1n, 2n]) })));
 * await store.append(ref, { format: 'csv', body: process.stdin });
 * const engine = createSqlEngine({ store, tempDirectory: '/tmp' });
 * const call = { tenant: 'default', requestId: '1', signal: new AbortController().signal };
 * const answer = await engine.query(call, 'SELECT max(id) FROM trades');
 * for await (const batch of answer.batches) console.log(batch.toArray());
 * await engine.close();
 * await store.close();
 * ```
 */
export {
  createDurableStore,
  type DurableStore,
  type DurableStoreOptions,
  type FrameCacheState,
} from './store/durable-store.ts';
export { createFrameFiles, type DuckdbFrameFiles } from './files/create-frame-files.ts';
export { DirectoryInUseError, type LockHolder, type LockTimes, type ProcessIdentity } from './disk/directory-lock.ts';
export { BackupError } from './store/backup/backup-error.ts';
export type { BackupFile, BackupIndex } from './store/backup/backup-index.ts';
export { type BackupOptions, type BackupReport, createBackup } from './store/backup/create-backup.ts';
export { restoreBackup, type RestoreOptions } from './store/backup/restore-backup.ts';
export { DirectoryFormatError } from './store/catalogue/directory-format.ts';
export type { StoreProblem } from './store/catalogue/store-problem.ts';
export type { FrameFiles, FrameSource, ReadPart, SourceInfo, WriteOptions, WrittenFile } from './files/frame-files.ts';
export { createParquetEncoder, type ParquetEncoderOptions } from './files/parquet-encoder.ts';
export type { FileChildOptions } from './child-link/file-child.ts';
export type { ChildOptions } from './child-link/child-process.ts';
export type { ChildEnd } from './child-link/child-errors.ts';
export type { ChildLink } from './child-link/child-link.ts';
export type { OnSpans } from './child-link/pending-request.ts';
export { createSqlEngine, type SqlEngineOptions } from './sql/engine.ts';
export type { SqlChildOptions } from './sql/children.ts';
export type { DescribedFrame, PinnedSource, SqlFrames } from './store/sql-frames.ts';
export type { FrameVerdict } from './store/all-frames.ts';
