import {
  type AppendOptions,
  columnInfo,
  type FrameRef,
  type FrameStream,
  type PutResult,
  type PutSource,
} from '@svc/frames';
import { createFrameBytes, createYield, readHead, withMissingColumns } from '@svc/frames/internal';
import type { Schema } from 'apache-arrow';
import type { StoredFrame } from './catalogue/stored-frame.ts';
import type { TenantFolder } from './catalogue/tenant-folder.ts';
import {
  type AddedRows,
  conformed,
  conformRows,
  contextOf,
  type FewRows,
  isStoredForm,
  matchSent,
} from './conform-rows.ts';
import type { ReservedAppend } from './publish-appends.ts';
import { checkConditions } from './publish-frame.ts';
import { type ReceivedRows, withReceived } from './receive-upload.ts';
import { reserveWrite } from './reserve-write.ts';
import { stageRows } from './stage-rows.ts';
import type { StoreParts } from './store-parts.ts';
import { receiving } from './write-frames.ts';

/** Appends rows to a frame, or creates one. */
export async function appendRows(
  parts: StoreParts,
  ref: FrameRef,
  source: PutSource,
  options: AppendOptions,
): Promise<PutResult> {
  const before = await checkConditions(parts, ref, options);
  const schema = before && (await schemaOf(parts, before));
  const reservation = await reserveWrite(parts, ref, 'append', options);
  try {
    const received = { ...(await receiving(parts, ref, options, before)), addedTo: schema, reservation };
    return await withReceived(source, received, async (rows) => {
      // With thousands of columns, each of these steps takes milliseconds.
      const pause = createYield();
      await pause();
      const added = rowsToAppend(rows, schema, options);
      await pause();
      return appendReceived(parts, ref, added, schema, { ...options, reservation });
    });
  } finally {
    reservation.close();
  }
}

async function appendReceived(
  parts: StoreParts,
  ref: FrameRef,
  rows: ReceivedRows,
  schema: Schema | undefined,
  options: ReservedAppend,
): Promise<PutResult> {
  const folder = parts.catalogue.folderOf(ref.tenant);
  let added = await addedRows(parts, folder, rows, options);
  try {
    // Here, and not where other changes of the handle wait.
    if (schema) added = await conformRows(parts, folder, schema, added, contextOf(options));
    await parts.merger.room(ref);
    return await parts.appends.publish(ref, added, options);
  } catch (error) {
    if (added.kind === 'file') await folder.discard(added.path).catch(() => {});
    throw error;
  }
}

/** Returns the schema of a frame, which may be replaced meanwhile. */
async function schemaOf({ catalogue, reader }: StoreParts, frame: StoredFrame): Promise<Schema> {
  catalogue.acquire(frame);
  try {
    return (await reader.describe(frame)).schema;
  } finally {
    catalogue.release(frame);
  }
}

/** Returns rows with the columns of a frame, if that is possible before they are written. */
function rowsToAppend(rows: ReceivedRows, schema: Schema | undefined, options: AppendOptions): ReceivedRows {
  if ('kind' in rows) return rows.kind === 'csv' && schema ? { ...rows, addedTo: schema } : rows;
  const added = schema && options.missingAsNull === true ? withMissingColumns(schema, rows) : rows;
  added.schema.fields.forEach(columnInfo);
  if (schema === undefined) return added;
  // Refuses columns that do not match before any row is read.
  const match = matchSent(schema, added.schema);
  return !match.isPlain && isStoredForm(added.schema) ? conformed(added, match) : added;
}

/** Reads rows into memory if there are few, else writes them to an unpublished file. */
async function addedRows(
  parts: StoreParts,
  folder: TenantFolder,
  rows: ReceivedRows,
  options: ReservedAppend,
): Promise<AddedRows> {
  const few = 'kind' in rows ? rows : await takeFew(rows);
  if (few.kind === 'few') return few;
  return { kind: 'file', ...(await stageRows(parts, folder, few.kind === 'many' ? few.rows : few, options)) };
}

/** The most bytes of an append that waits in memory for others. */
const MAX_FEW_BYTES = 128 * 1024;

/** Reads a stream to its end if it is short. */
async function takeFew({ schema, batches }: FrameStream): Promise<FewRows | { kind: 'many'; rows: FrameStream }> {
  const counter = createFrameBytes();
  let bytes = 0;
  const { head, isWhole, all } = await readHead(batches, (batch) => (bytes += counter.add(batch)) > MAX_FEW_BYTES);
  return isWhole ? { kind: 'few', schema, batches: head } : { kind: 'many', rows: { schema, batches: all } };
}
