import type { FrameStream, PutOptions } from '@svc/frames';
import { type ColumnMatch, matchColumns } from '@svc/frames/internal';
import type { RecordBatch, Schema } from 'apache-arrow';
import type { TenantFolder } from './catalogue/tenant-folder.ts';
import { schemaText } from '../types/schema-text.ts';
import { storedSchema } from '../types/stored-types.ts';
import { type StagedRows, stageRows, type Staging } from './stage-rows.ts';

/** Rows that are appended to a frame: on disk, or in memory if there are few. */
export type AddedRows = AddedFile | FewRows;

/** Rows on disk that are appended to a frame. */
export interface AddedFile extends StagedRows {
  readonly kind: 'file';
  /** The schema of a frame that the columns are known to fit. */
  readonly fits?: Schema;
}

/** Rows in memory that are appended to a frame. Those of several appends are written together. */
export interface FewRows {
  readonly kind: 'few';
  readonly schema: Schema;
  readonly batches: readonly RecordBatch[];
  /** The schema of a frame that the columns are known to fit. */
  readonly fits?: Schema;
}

/** Converts a stream to the columns of a frame. */
export function conformed(rows: FrameStream, match: ColumnMatch): FrameStream {
  async function* batches(): AsyncGenerator<RecordBatch> {
    for await (const batch of rows.batches) yield match.conform(batch);
  }
  return { schema: match.schema, batches: batches() };
}

/** Whether a schema does not change when its rows are written and read back. */
export function isStoredForm(schema: Schema): boolean {
  return schemaText(storedSchema(schema).schema) === schemaText(schema);
}

/** How the columns of sent rows match those of a frame, for the frame they were last compared with. */
const matches = new WeakMap<Schema, { readonly frame: Schema; readonly match: ColumnMatch }>();

/** Matches the columns of rows that are not written yet to those of a frame. Clients that append send the same columns. */
export function matchSent(frame: Schema, sent: Schema): ColumnMatch {
  const known = matches.get(sent);
  if (known?.frame === frame) return known.match;
  const match = matchColumns(frame, storedSchema(sent).schema);
  matches.set(sent, { frame, match });
  return match;
}

/** A stream of rows in memory. */
export function streamOf(appends: readonly FewRows[], schema: Schema): FrameStream {
  async function* batches(): AsyncGenerator<RecordBatch> {
    for (const rows of appends) yield* rows.batches;
  }
  return { schema, batches: batches() };
}

/** The number of rows. */
export function rowsOf(added: AddedRows): number {
  return added.kind === 'file' ? added.written.rows : added.batches.reduce((sum, { numRows }) => sum + numRows, 0);
}

/** The request that rows are written for, and the signal that cancels it. */
export type StagingContext = Pick<PutOptions, 'origin' | 'signal'>;

/** Returns the context of an append. Not its reservation: the bytes of the file are reserved when it is published. */
export function contextOf({ origin, signal }: StagingContext): StagingContext {
  return { ...(origin && { origin }), ...(signal && { signal }) };
}

/** Writes rows in memory to an unpublished file. */
export async function stageAdded(
  staging: Staging,
  folder: TenantFolder,
  added: AddedRows,
  context: StagingContext,
): Promise<AddedFile> {
  if (added.kind === 'file') return added;
  return { kind: 'file', ...(await stageRows(staging, folder, streamOf([added], added.schema), context)) };
}

/**
 * Returns rows that will have columns of the same names and types in a file as those of a frame; converts them if
 * needed.
 */
export async function conformRows(
  staging: Staging,
  folder: TenantFolder,
  schema: Schema,
  added: AddedRows,
  context: StagingContext,
): Promise<AddedRows> {
  if (added.fits === schema) return added;
  const match = added.kind === 'file' ? matchColumns(schema, added.written.schema) : matchSent(schema, added.schema);
  if (match.isPlain) return { ...added, fits: schema };
  if (added.kind === 'few' && isStoredForm(added.schema)) {
    const batches = added.batches.map((batch) => match.conform(batch));
    return { kind: 'few', schema: match.schema, batches, fits: schema };
  }
  const { path, written } = await stageAdded(staging, folder, added, context);
  try {
    const rows = staging.files.read({ kind: 'parquet', path, isOwn: true }, written, {});
    return { kind: 'file', ...(await stageRows(staging, folder, conformed(rows, match), context)), fits: schema };
  } finally {
    await folder.discard(path).catch(() => {});
  }
}
