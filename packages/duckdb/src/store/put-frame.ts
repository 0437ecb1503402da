import { ServiceError } from '@svc/errors';
import {
  type FrameInfo,
  type FrameRef,
  type FrameStream,
  type PutOptions,
  type PutResult,
  type PutSource,
  type RequestOrigin,
} from '@svc/frames';
import { createYield } from '@svc/frames/async';
import { checkSchema } from '@svc/frames/columns';
import { checkPutConditions, expiryOf, type WriteReservation } from '@svc/frames/store';
import type { RecordBatch, Schema } from 'apache-arrow';
import type { WrittenFile } from '../files/frame-files.ts';
import { followSize } from '../files/unfinished-files.ts';
import { schemaText } from '../types/stored-types.ts';
import type { Catalogue } from './catalogue/catalogue.ts';
import { contentsOf, infoOf, type NextVersion, type StoredFrame } from './catalogue/stored-frame.ts';
import type { TenantFolder } from './catalogue/tenant-folder.ts';
import type { Filling } from './derived/hot-tier.ts';
import { type ReceivedRows, type Receiving, withReceived } from './receive-upload.ts';
import { readOnlyFrame } from './store-errors.ts';
import type { StoreParts } from './store-parts.ts';

/** Puts or replaces a frame. */
export async function putRows(
  parts: StoreParts,
  ref: FrameRef,
  source: PutSource,
  options: PutOptions,
): Promise<PutResult> {
  await checkConditions(parts, ref, options);
  const reservation = await reserveWrite(parts, ref, 'put', options);
  try {
    const received = { ...receiving(parts, ref, options), reservation };
    return await withReceived(source, received, (rows) => putReceived(parts, ref, rows, options, reservation));
  } finally {
    reservation.close();
  }
}

async function putReceived(
  parts: StoreParts,
  ref: FrameRef,
  rows: ReceivedRows,
  options: PutOptions,
  reservation: WriteReservation,
): Promise<PutResult> {
  const { catalogue, hot } = parts;
  const folder = catalogue.folderOf(ref.tenant);
  if (!('kind' in rows)) checkSchema(rows.schema);
  const filling = 'kind' in rows ? undefined : hot.fillNew(rows.schema);
  let staged: StagedRows | undefined;
  try {
    staged = await stageRows(parts, folder, rows, { context: options, filling, reservation });
    const { path, written } = staged;
    await finishFilling(filling, rows, written.schema);
    return await catalogue.change(ref, async () => {
      options.signal?.throwIfAborted();
      // Check again under the lock of the handle: another put may have been faster.
      const replaced = await checkConditions(parts, ref, options);
      const expires = expiryOf(parts.now(), options.ttlSeconds ?? null);
      const { frame, info } = await publishNew(parts, ref, { path, written }, { expires });
      filling?.keep(frame);
      return { info: { ...info, tier: hot.has(frame) ? 'memory' : 'disk' }, created: replaced === undefined };
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
  if (filling === undefined || 'kind' in rows) return filling?.cancel();
  const pause = createYield();
  const text = schemaText(rows.schema);
  await pause();
  if (text === schemaText(written)) filling.finish();
  else filling.cancel();
}

/** Returns the frame to change, if there is one. Throws if the change is not allowed. */
export async function checkConditions(
  { catalogue, foreign }: StoreParts,
  ref: FrameRef,
  options: PutOptions,
): Promise<StoredFrame | undefined> {
  options.signal?.throwIfAborted();
  if ((await catalogue.find(ref)) === undefined && (await foreign.find(ref))) throw readOnlyFrame(ref.handle);
  const frame = await catalogue.find(ref);
  checkPutConditions(ref, frame, options);
  return frame;
}

/** Where and how an upload is received. */
export function receiving({ catalogue, decoders }: StoreParts, ref: FrameRef, options: PutOptions): Receiving {
  const folder = catalogue.folderOf(ref.tenant);
  return { decoders, folder, signal: options.signal, origin: options.origin };
}

/** Rows on disk, not published yet. */
export interface StagedRows {
  readonly path: string;
  readonly written: WrittenFile;
}

/** The request of a write, and the signal to cancel it. */
export interface StageContext {
  readonly origin?: RequestOrigin | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What rows are staged for. */
interface Stage {
  readonly context: StageContext;
  readonly filling?: Filling<StoredFrame> | undefined;
  /** Reserves the bytes of the file. */
  readonly reservation?: WriteReservation;
}

/** Writes rows to an unpublished file, and adds the batches to `filling`. On failure there is no file. */
export async function stageRows(
  { files, compression }: StoreParts,
  folder: TenantFolder,
  rows: ReceivedRows,
  { context: { signal, origin }, filling, reservation }: Stage,
): Promise<StagedRows> {
  signal?.throwIfAborted();
  const path = await folder.newFile();
  const tapped = 'kind' in rows ? undefined : tapBatches(rows, filling, signal);
  const write = (stop: AbortSignal | undefined): Promise<WrittenFile> => {
    const options = { ...compression, ...(stop && { signal: stop }), ...(origin && { origin }) };
    if ('kind' in rows) return files.convert(rows, path, { ...options, isUpload: true });
    return files.write(path, tapped?.stream ?? rows, options);
  };
  const written = await reserveWhileWriting(reservation, path, signal, write).catch((error: unknown) => {
    signal?.throwIfAborted();
    const isQuota = error instanceof ServiceError && error.code === 'quota_exceeded';
    throw isQuota ? error : (tapped?.failure() ?? error);
  });
  try {
    reservation?.resize(written.fileBytes);
    return { path, written };
  } catch (error) {
    await folder.discard(path).catch(() => {});
    throw error;
  }
}

/** Wraps a stream and records its original error: a writer may wrap it. */
function tapBatches(
  source: FrameStream,
  filling: Filling<StoredFrame> | undefined,
  signal: AbortSignal | undefined,
): { readonly stream: FrameStream; failure(): unknown } {
  let failure: unknown;
  async function* batches(): AsyncGenerator<RecordBatch> {
    try {
      let isFilling = filling !== undefined;
      for await (const batch of source.batches) {
        signal?.throwIfAborted();
        isFilling = isFilling && filling !== undefined && (await filling.add(batch));
        yield batch;
      }
    } catch (error) {
      failure = error;
      throw error;
    }
  }
  return { stream: { schema: source.schema, batches: batches() }, failure: () => failure };
}

/** Publishes a file as a version of a frame. Call it only inside `change`. */
export async function publishNew(
  { catalogue, checkLock }: StoreParts,
  ref: FrameRef,
  { path, written }: StagedRows,
  next: Pick<NextVersion, 'expires' | 'onCurrent'>,
): Promise<{ readonly frame: StoredFrame; readonly info: FrameInfo }> {
  const contents = contentsOf(written, written.fileBytes);
  const version = catalogue.nextVersion(ref);
  await checkLock();
  const part = { from: path, size: written };
  const frame = await catalogue.publish(ref, { version, parts: [part], contents, ...next });
  return { frame, info: infoOf(frame, contents, false) };
}

/** Reserves what a write is going to store. Throws `quota_exceeded` if the tenant has no room for it. */
export async function reserveWrite(
  { catalogue, reservations }: StoreParts,
  ref: FrameRef,
  kind: 'append' | 'put',
  { quota }: PutOptions,
): Promise<WriteReservation> {
  if (quota !== undefined) await catalogue.load(ref.tenant);
  return reservations.open(ref, kind, quota);
}

/** The handle in lower case and the bytes of each frame of a tenant. */
export function* sizesOf(catalogue: Catalogue, tenant: string): Iterable<readonly [string, number]> {
  for (const [key, { fileBytes = 0 }] of catalogue.byKey(tenant)) yield [key, fileBytes];
}

/**
 * Runs a write to a file, and reserves its bytes so far. If they exceed the quota, the write is cancelled with
 * `quota_exceeded`.
 */
async function reserveWhileWriting<T>(
  reservation: WriteReservation | undefined,
  path: string,
  signal: AbortSignal | undefined,
  write: (signal: AbortSignal | undefined) => Promise<T>,
): Promise<T> {
  if (reservation?.isLimited !== true) return write(signal);
  const exceeded = new AbortController();
  const stop = followSize([path], (bytes) => {
    try {
      reservation.resize(bytes);
    } catch (error) {
      exceeded.abort(error);
    }
  });
  try {
    return await write(AbortSignal.any(signal === undefined ? [exceeded.signal] : [exceeded.signal, signal]));
  } catch (error) {
    throw exceeded.signal.aborted ? exceeded.signal.reason : error;
  } finally {
    stop();
  }
}
