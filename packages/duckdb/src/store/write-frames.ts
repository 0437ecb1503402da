import {
  type AppendOptions,
  columnInfo,
  type FrameRef,
  type FrameStream,
  type PutOptions,
  type PutResult,
  type PutSource,
} from '@svc/frames';
import {
  checkPutConditions,
  expiryOf,
  type ColumnMatch,
  matchColumns,
  underSchema,
  withMissingColumns,
} from '@svc/frames/internal';
import type { RecordBatch, Schema } from 'apache-arrow';
import type { WriteOptions } from '../files/frame-files.ts';
import type { Filling } from './memory/hot-tier.ts';
import { type ReceivedRows, type Receiving, withReceived } from './receive-upload.ts';
import { type StagedRows, stageRows } from './stage-rows.ts';
import { schemaText } from '../types/schema-text.ts';
import { storedSchema } from '../types/stored-types.ts';
import { readOnlyFrame } from './store-errors.ts';
import type { StoreParts } from './store-parts.ts';
import { contentsOf, infoOf, type StoredFrame } from './catalogue/stored-frame.ts';

/** Puts or replaces a frame. */
export async function putRows(
  parts: StoreParts,
  ref: FrameRef,
  source: PutSource,
  options: PutOptions,
): Promise<PutResult> {
  await checkConditions(parts, ref, options);
  return withReceived(source, await receiving(parts, ref, options), (rows) => putReceived(parts, ref, rows, options));
}

async function receiving({ catalogue, decoders }: StoreParts, ref: FrameRef, options: PutOptions): Promise<Receiving> {
  const folder = catalogue.folderOf(ref.tenant);
  await folder.prepare();
  return { decoders, folder, signal: options.signal };
}

async function putReceived(
  parts: StoreParts,
  ref: FrameRef,
  rows: ReceivedRows,
  options: PutOptions,
): Promise<PutResult> {
  const { catalogue, hot } = parts;
  const folder = catalogue.folderOf(ref.tenant);
  if (!('kind' in rows)) rows.schema.fields.forEach(columnInfo);
  const filling = 'kind' in rows ? undefined : hot.fillNew(rows.schema);
  let staged: StagedRows | undefined;
  try {
    staged = await stageRows(parts, folder, rows, { ...options, filling });
    const { path, written } = staged;
    await finishFilling(filling, rows, written.schema);
    return await catalogue.change(ref, async () => {
      options.signal?.throwIfAborted();
      // Check again under the lock of the handle: another put may have been faster.
      const replaced = await checkConditions(parts, ref, options);
      const expires = expiryOf(parts.now(), options.ttlSeconds ?? null);
      return publish(parts, ref, { path, written }, { expires, filling, replaced });
    });
  } catch (error) {
    if (staged) await folder.discard(staged.path).catch(() => {});
    throw error;
  } finally {
    filling?.cancel();
  }
}

/** A file stores normalised types: keep the rows in memory only if normalising changes nothing. */
async function finishFilling(
  filling: Filling<StoredFrame> | undefined,
  rows: ReceivedRows,
  written: Schema,
): Promise<void> {
  if (filling && !('kind' in rows) && schemaText(rows.schema) === schemaText(written)) await filling.finish();
  else filling?.cancel();
}

/** Appends rows to a frame, or creates one. */
export async function appendRows(
  parts: StoreParts,
  ref: FrameRef,
  source: PutSource,
  options: AppendOptions,
): Promise<PutResult> {
  const before = await checkConditions(parts, ref, options);
  const received = await receiving(parts, ref, options);
  return withReceived(source, received, async (rows) => {
    const schema = before && (await parts.reader.describe(before)).schema;
    if ('kind' in rows) {
      const addedTo = rows.kind === 'csv' && schema ? { addedTo: schema } : {};
      return appendReceived(parts, ref, { ...rows, ...addedTo }, options);
    }
    const added = schema && options.missingAsNull === true ? withMissingColumns(schema, rows) : rows;
    added.schema.fields.forEach(columnInfo);
    // Refuse columns that do not match before writing.
    if (schema) matchColumns(storedSchema(schema).schema, storedSchema(added.schema).schema);
    return appendReceived(parts, ref, added, options);
  });
}

async function appendReceived(
  parts: StoreParts,
  ref: FrameRef,
  rows: ReceivedRows,
  options: PutOptions,
): Promise<PutResult> {
  const { catalogue } = parts;
  const folder = catalogue.folderOf(ref.tenant);
  const added = await stageRows(parts, folder, rows, options);
  try {
    return await catalogue.change(ref, async () => {
      options.signal?.throwIfAborted();
      const current = await checkConditions(parts, ref, options);
      const ends = options.ttlSeconds === undefined ? current?.expires : expiryOf(parts.now(), options.ttlSeconds);
      const joined = current ? await joinRows(parts, current, added, options.signal) : added;
      try {
        return await publish(parts, ref, joined, { expires: ends ?? null, replaced: current });
      } catch (error) {
        await folder.discard(joined.path).catch(() => {});
        throw error;
      }
    });
  } finally {
    // If this file became the frame it was renamed, and there is nothing to remove.
    await folder.discard(added.path).catch(() => {});
  }
}

/** Writes a new file with the rows of a frame, then the added ones. */
async function joinRows(
  { catalogue, files, reader, compression }: StoreParts,
  frame: StoredFrame,
  added: StagedRows,
  signal: AbortSignal | undefined,
): Promise<StagedRows> {
  const path = catalogue.folderOf(frame.tenant).unfinishedPath();
  const write: WriteOptions = { ...compression, ...(signal && { signal }) };
  const contents = await reader.describe(frame);
  const match = matchColumns(contents.schema, added.written.schema);
  const from = { kind: 'parquet', path: added.path, isOwn: true } as const;
  // Damaged rows must not be copied into a file with new checksums.
  await reader.verify(frame, { ...(signal && { signal }) });
  if (match.isPlain && frame.source.kind === 'parquet') {
    return { path, written: await files.concat([frame.source, from], path, write) };
  }
  const rows = joinStreams(
    match,
    reader.read(frame, contents, { ...(signal && { signal }) }),
    files.read(from, added.written, { ...(signal && { signal }) }),
  );
  return { path, written: await files.write(path, rows, write) };
}

function joinStreams(match: ColumnMatch, first: FrameStream, second: FrameStream): FrameStream {
  async function* batches(): AsyncGenerator<RecordBatch> {
    for await (const batch of first.batches) yield underSchema(match.schema, batch);
    for await (const batch of second.batches) yield match.conform(batch);
  }
  return { schema: match.schema, batches: batches() };
}

interface Publication {
  readonly expires: Date | null;
  readonly filling?: Filling<StoredFrame> | undefined;
  readonly replaced: StoredFrame | undefined;
}

async function publish(
  { catalogue, checkLock, hot }: StoreParts,
  ref: FrameRef,
  { path, written }: StagedRows,
  { expires, filling, replaced }: Publication,
): Promise<PutResult> {
  const contents = contentsOf(written, written.fileBytes);
  await checkLock();
  const frame = await catalogue.publish(ref, path, contents, expires);
  filling?.keep(frame);
  return { info: infoOf(frame, contents, hot.has(frame)), created: replaced === undefined };
}

/** Returns the frame that a change applies to, if any. Throws if the change is not allowed. */
async function checkConditions(
  { catalogue, foreign }: StoreParts,
  ref: FrameRef,
  options: PutOptions,
): Promise<StoredFrame | undefined> {
  options.signal?.throwIfAborted();
  if (catalogue.find(ref) === undefined && (await foreign.find(ref))) throw readOnlyFrame(ref.handle);
  const frame = catalogue.find(ref);
  checkPutConditions(ref, frame, options);
  return frame;
}
