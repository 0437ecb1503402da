import { ServiceError } from '@svc/errors';
import type { RecordBatch } from 'apache-arrow';
import { monotonicFactory } from 'ulid';
import { columnInfo } from '../column-types.ts';
import { createFrameBytes, schemaBytes } from '../columns/frame-bytes.ts';
import { createYield } from '../decode/lines/create-yield.ts';
import type { FrameStream } from '../frame-stream.ts';
import type { Handle } from '../handle.ts';
import { createKeptFrames, type KeptFrame, type KeptFrames } from './kept-frames.ts';
import { matchColumns, underSchema } from '../columns/match-columns.ts';
import { withMissingColumns } from '../columns/missing-columns.ts';
import { checkFree, checkOtherHandle, checkPutConditions, expiryOf } from './put-conditions.ts';
import type { AppendOptions, FrameInfo, FrameRef, PutOptions, PutResult, PutSource, Store } from '../store.ts';
import { createWriteReservations, type WriteReservation, type WriteReservations } from '../write-reservations.ts';

/** Options of `createMemoryStore`. */
export interface MemoryStoreOptions {
  /** The memory for all frames together in bytes; a frame that does not fit is refused. Default 1 GiB. */
  readonly maxBytes?: number;
}

/**
 * Creates a store that keeps frames in memory, within a budget of bytes. It never evicts: a put that does not fit is
 * `out_of_memory` and changes nothing.
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  const frames = createKeptFrames(options.maxBytes ?? 1024 ** 3);
  const reservations = createWriteReservations((tenant) => frames.sizesOf(tenant));
  const parts = { frames, reservations, nextVersion: monotonicFactory() };
  return {
    fileFormats: [],
    put: (ref, source, put = {}) => putFrame(parts, ref, batchesOnly(source), put),
    append: (ref, source, put = {}) => appendFrame(parts, ref, batchesOnly(source), put),
    open: async (ref) => {
      const frame = frames.findExact(ref);
      return frame && frames.open(frame);
    },
    describe: async (ref) => frames.findExact(ref)?.info,
    list: async (tenant, { prefix = '', after = '', limit = Infinity } = {}) => {
      frames.removeExpired();
      return frames
        .of(tenant)
        .map((frame) => frame.info)
        .filter((info) => info.handle.startsWith(prefix) && info.handle > after)
        .toSorted((a, b) => (a.handle < b.handle ? -1 : 1))
        .slice(0, limit);
    },
    handles: async (tenant) => {
      frames.removeExpired();
      return frames.of(tenant).map(({ info }) => info.handle);
    },
    expire: async (ref, ttlSeconds) => {
      const frame = frames.findExact(ref);
      if (frame) frame.info = { ...frame.info, expires: expiryOf(Date.now(), ttlSeconds) };
      return frame?.info;
    },
    rename: async (ref, handle) => renameFrame(parts, ref, handle),
    drop: async (ref) => {
      const frame = frames.findExact(ref);
      if (frame) frames.remove(ref.tenant, frame);
      return frame !== undefined;
    },
    usage: async () => {
      frames.removeExpired();
      const { usedBytes: bytes, freeBytes } = frames.budget;
      return { frames: frames.size, bytes, freeBytes };
    },
    faults: async () => [],
    close: async () => frames.removeAll(),
  };
}

interface Parts {
  readonly frames: KeptFrames;
  readonly nextVersion: () => string;
  readonly reservations: WriteReservations;
}

function batchesOnly(source: PutSource): FrameStream {
  if (!('format' in source)) return source;
  throw new ServiceError('unsupported_media_type', `The memory store does not read ${source.format} files.`);
}

async function putFrame(
  { frames, nextVersion, reservations }: Parts,
  ref: FrameRef,
  source: FrameStream,
  options: PutOptions,
): Promise<PutResult> {
  checkConditions(frames, ref, options);
  frames.removeExpired();
  const columns = source.schema.fields.map(columnInfo);
  const reservation = reservations.open(ref, 'put', options.quota);
  const { batches, rows, bytes } = await collect(frames, source, reservation, options.signal);
  try {
    options.signal?.throwIfAborted();
    // Check again, now synchronously: another put may have finished first.
    const replaced = checkConditions(frames, ref, options);
    const now = Date.now();
    const expires = expiryOf(now, options.ttlSeconds ?? null);
    const frame = {
      schema: source.schema,
      batches,
      info: infoOf(ref, nextVersion(), now, { rows, bytes, columns, expires }),
    };
    frames.set(ref.tenant, frame);
    return { info: frame.info, created: replaced === undefined };
  } catch (error) {
    frames.budget.free(bytes);
    throw error;
  } finally {
    reservation.close();
  }
}

function renameFrame({ frames, nextVersion }: Parts, ref: FrameRef, handle: Handle): FrameInfo | undefined {
  const frame = frames.findExact(ref);
  if (frame === undefined) return undefined;
  const { tenant } = ref;
  const target = { tenant, handle };
  checkOtherHandle(ref.handle, handle);
  checkFree(target, frames.find(target)?.info);
  const info = infoOf(target, nextVersion(), Date.now(), frame.info);
  frames.rename(tenant, frame, info);
  return info;
}

async function appendFrame(parts: Parts, ref: FrameRef, rows: FrameStream, options: AppendOptions): Promise<PutResult> {
  const { frames, nextVersion, reservations } = parts;
  const before = checkConditions(frames, ref, options);
  const source = before && options.missingAsNull === true ? withMissingColumns(before.schema, rows) : rows;
  // Refuse a mismatch before receiving the rows.
  if (before) matchColumns(before.schema, source.schema);
  source.schema.fields.forEach(columnInfo);
  const reservation = reservations.open(ref, 'append', options.quota);
  const added = await collect(frames, source, reservation, options.signal);
  let { bytes } = added;
  try {
    options.signal?.throwIfAborted();
    const current = checkConditions(frames, ref, options);
    const match = matchColumns(current?.schema ?? source.schema, source.schema);
    const { schema } = match;
    const batches = [
      ...(current?.batches ?? []).map((batch) => underSchema(schema, batch)),
      ...added.batches.map((batch) => match.conform(batch)),
    ];
    const counter = createFrameBytes();
    const wholeBytes = batches.reduce((sum, batch) => sum + counter.add(batch), schemaBytes(schema));
    reservation.resize(Math.max(0, wholeBytes - (current?.info.bytes ?? 0)));
    frames.budget.take(Math.max(0, wholeBytes - bytes));
    bytes = Math.max(bytes, wholeBytes);
    const now = Date.now();
    const expires = options.ttlSeconds === undefined ? current?.info.expires : expiryOf(now, options.ttlSeconds);
    const contents = {
      rows: (current?.info.rows ?? 0) + added.rows,
      bytes,
      columns: schema.fields.map(columnInfo),
      expires: expires ?? null,
    };
    const info = infoOf(ref, nextVersion(), now, contents);
    frames.set(ref.tenant, { info, schema, batches });
    return { info, created: current === undefined, rowsWritten: added.rows };
  } catch (error) {
    frames.budget.free(bytes);
    throw error;
  } finally {
    reservation.close();
  }
}

function infoOf(
  { handle }: FrameRef,
  version: string,
  now: number,
  contents: Pick<FrameInfo, 'rows' | 'bytes' | 'columns' | 'expires'>,
): FrameInfo {
  const { rows, bytes, columns, expires } = contents;
  return { handle, rows, bytes, columns, created: new Date(now), version, expires, tier: 'memory' };
}

interface Collected {
  readonly batches: readonly RecordBatch[];
  readonly rows: number;
  /** The bytes taken from the budget. */
  readonly bytes: number;
}

/** Reads all batches, and takes each from the budget and the quota. On failure returns all bytes and ends the write. */
async function collect(
  { budget }: KeptFrames,
  source: FrameStream,
  reservation: WriteReservation,
  signal?: AbortSignal,
): Promise<Collected> {
  const batches: RecordBatch[] = [];
  const counter = createFrameBytes();
  const pause = createYield();
  let rows = 0;
  let bytes = 0;
  const take = (more: number): void => {
    reservation.resize(bytes + more);
    budget.take(more);
    bytes += more;
  };
  try {
    take(schemaBytes(source.schema));
    for await (const batch of source.batches) {
      signal?.throwIfAborted();
      if (batch.numRows === 0) continue;
      await pause();
      take(counter.add(batch));
      rows += batch.numRows;
      batches.push(batch);
    }
    return { batches, rows, bytes };
  } catch (error) {
    budget.free(bytes);
    reservation.close();
    throw error;
  }
}

function checkConditions(frames: KeptFrames, ref: FrameRef, options: PutOptions): KeptFrame | undefined {
  const frame = frames.find(ref);
  checkPutConditions(ref, frame?.info, options);
  return frame;
}
