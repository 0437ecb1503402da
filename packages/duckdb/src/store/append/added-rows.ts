import type { FrameStream } from '@svc/frames';
import { type ColumnMatch, createFrameBytes, matchColumns } from '@svc/frames/columns';
import type { WriteReservation } from '@svc/frames/store';
import { readHead } from '@svc/frames/streams';
import type { RecordBatch, Schema } from 'apache-arrow';
import { schemaText, storedSchema } from '../../types/stored-types.ts';
import type { TenantFolder } from '../catalogue/tenant-folder.ts';
import { type StageContext, type StagedRows, stageRows } from '../put-frame.ts';
import type { ReceivedRows } from '../receive-upload.ts';
import type { StoreParts } from '../store-parts.ts';

/** Rows to append: on disk, or in memory if there are few. */
export type AddedRows = AddedFile | FewRows;

/** Rows on disk to append. */
export interface AddedFile extends StagedRows {
  readonly kind: 'file';
  /** A schema of the frame known to fit the columns. */
  readonly fits?: Schema;
}

/** Rows in memory to append. The rows of several appends are written together. */
interface FewRows {
  readonly kind: 'few';
  readonly schema: Schema;
  readonly batches: readonly RecordBatch[];
  /** A schema of the frame known to fit the columns. */
  readonly fits?: Schema;
}

/** The most bytes of an append in memory, where it waits for others. */
const MAX_FEW_BYTES = 128 * 1024;

/** Reads rows into memory if there are few, else writes them to an unpublished file. */
export async function addedRows(
  parts: StoreParts,
  folder: TenantFolder,
  rows: ReceivedRows,
  context: StageContext,
  reservation: WriteReservation,
): Promise<AddedRows> {
  let all = rows;
  if (!('kind' in rows)) {
    const { schema } = rows;
    const counter = createFrameBytes();
    let bytes = 0;
    const read = await readHead(rows.batches, (batch) => (bytes += counter.add(batch)) > MAX_FEW_BYTES);
    if (read.isWhole) return { kind: 'few', schema, batches: read.head };
    all = { schema, batches: read.all };
  }
  return { kind: 'file', ...(await stageRows(parts, folder, all, { context, reservation })) };
}

/** The number of rows. */
export function rowsOf(added: AddedRows): number {
  return added.kind === 'file' ? added.written.rows : added.batches.reduce((sum, { numRows }) => sum + numRows, 0);
}

/** True if the rows of two appends can be written to one file. */
export function canShareFile(a: AddedRows, b: AddedRows): boolean {
  if (a.kind !== 'few' || b.kind !== 'few') return false;
  return a.schema === b.schema || schemaText(a.schema) === schemaText(b.schema);
}

/**
 * Writes rows to one unpublished file; see `canShareFile`. Reserves no bytes: publishing reserves those of the file.
 */
export async function stageTogether(
  parts: StoreParts,
  folder: TenantFolder,
  all: readonly AddedRows[],
  context: StageContext,
): Promise<AddedFile> {
  const few: FewRows[] = [];
  for (const added of all) {
    if (added.kind === 'file') return added;
    few.push(added);
  }
  const [first] = few;
  if (first === undefined) throw new Error('There are no rows to write.');
  async function* batches(): AsyncGenerator<RecordBatch> {
    for (const rows of few) yield* rows.batches;
  }
  const rows = { schema: first.schema, batches: batches() };
  return { kind: 'file', ...(await stageRows(parts, folder, rows, { context })) };
}

/** Converts a stream to the columns of a frame. */
export function conformed(rows: FrameStream, match: ColumnMatch): FrameStream {
  async function* batches(): AsyncGenerator<RecordBatch> {
    for await (const batch of rows.batches) yield match.conform(batch);
  }
  return { schema: match.schema, batches: batches() };
}

/** True if a schema does not change when its rows are written and read back. */
export function isStoredForm(schema: Schema): boolean {
  return schemaText(storedSchema(schema).schema) === schemaText(schema);
}

/** How the columns of sent rows match those of a frame, for the frame they were last compared with. */
const matches = new WeakMap<Schema, { readonly frame: Schema; readonly match: ColumnMatch }>();

/** Matches the columns of sent rows to those of a frame. Remembers the result: clients send the same columns again. */
export function matchSent(frame: Schema, sent: Schema): ColumnMatch {
  const known = matches.get(sent);
  if (known?.frame === frame) return known.match;
  const match = matchColumns(frame, storedSchema(sent).schema);
  matches.set(sent, { frame, match });
  return match;
}

/** Returns rows with columns of the same names and types as those of a frame. Converts them if needed. */
export async function conformRows(
  parts: StoreParts,
  folder: TenantFolder,
  schema: Schema,
  added: AddedRows,
  context: StageContext,
): Promise<AddedRows> {
  if (added.fits === schema) return added;
  const match = added.kind === 'file' ? matchColumns(schema, added.written.schema) : matchSent(schema, added.schema);
  if (match.isPlain) return { ...added, fits: schema };
  if (added.kind === 'few' && isStoredForm(added.schema)) {
    const batches = added.batches.map((batch) => match.conform(batch));
    return { kind: 'few', schema: match.schema, batches, fits: schema };
  }
  const { path, written } = await stageTogether(parts, folder, [added], context);
  try {
    const rows = conformed(parts.files.read({ kind: 'parquet', path, isOwn: true }, written, {}), match);
    return { kind: 'file', ...(await stageRows(parts, folder, rows, { context })), fits: schema };
  } finally {
    await folder.discard(path).catch(() => {});
  }
}
