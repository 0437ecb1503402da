import { ServiceError } from '@svc/errors';
import type { RecordBatch, Schema } from 'apache-arrow';
import { monotonicFactory } from 'ulid';
import { createYield } from '../async.ts';
import { type ByteBudget, createByteBudget } from '../byte-budget.ts';
import { checkSchema, columnInfo } from '../column-types.ts';
import { matchColumns, underSchema, withMissingColumns } from '../columns/match-columns.ts';
import { createFrameBytes, schemaBytes } from '../columns/record-batch.ts';
import { selectColumns, sliceBatches } from '../columns/slice-batches.ts';
import type {
  AppendOptions,
  FrameInfo,
  FrameRef,
  Handle,
  OpenFrame,
  PutOptions,
  PutResult,
  PutSource,
  Store,
} from '../store.ts';
import type { FrameStream } from '../streams.ts';
import {
  checkFree,
  checkOtherHandle,
  checkPutConditions,
  createWriteReservations,
  expiryOf,
  type WriteReservation,
  type WriteReservations,
} from '../write-conditions.ts';

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
  checkSchema(source.schema);
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
  checkSchema(rows.schema);
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

interface KeptFrame {
  info: FrameInfo;
  readonly schema: Schema;
  readonly batches: readonly RecordBatch[];
}

/** The frames of all tenants, within a budget. */
type KeptFrames = ReturnType<typeof createKeptFrames>;

function createKeptFrames(maxBytes: number) {
  const budget = createByteBudget(maxBytes, doesNotFit);
  /** By tenant, then by handle in lower case: no two handles of a tenant differ only in case. */
  const tenants = new Map<string, Map<string, KeptFrame>>();
  const readers = new Map<KeptFrame, number>();
  const gone = new Set<KeptFrame>();

  function remove(tenant: string, frame: KeptFrame): void {
    tenants.get(tenant)?.delete(frame.info.handle.toLowerCase());
    gone.add(frame);
    release(frame);
  }

  /** A removed frame keeps its bytes until its last reader closes it. */
  function release(frame: KeptFrame): void {
    if (!readers.has(frame) && gone.delete(frame)) budget.free(frame.info.bytes);
  }

  function removeWhere(fits: (frame: KeptFrame) => boolean): void {
    for (const [tenant, frames] of tenants) for (const frame of frames.values()) if (fits(frame)) remove(tenant, frame);
  }

  /** Finds a frame by handle, ignoring letter case. */
  function find({ tenant, handle }: FrameRef): KeptFrame | undefined {
    const frame = tenants.get(tenant)?.get(handle.toLowerCase());
    if (frame === undefined || !isExpired(frame)) return frame;
    remove(tenant, frame);
    return undefined;
  }

  return {
    budget,
    get size(): number {
      return [...tenants.values()].reduce((sum, frames) => sum + frames.size, 0);
    },
    find,
    findExact(ref: FrameRef): KeptFrame | undefined {
      const frame = find(ref);
      return frame?.info.handle === ref.handle ? frame : undefined;
    },
    of: (tenant: string): readonly KeptFrame[] => [...(tenants.get(tenant)?.values() ?? [])],
    /** The handle in lower case and the bytes of each unexpired frame. */
    *sizesOf(tenant: string): Iterable<readonly [key: string, bytes: number]> {
      for (const [key, frame] of tenants.get(tenant) ?? []) if (!isExpired(frame)) yield [key, frame.info.bytes];
    },
    /** Adds a frame, replacing one with the same handle. Its bytes must already be taken from the budget. */
    set(tenant: string, frame: KeptFrame): void {
      const { handle } = frame.info;
      const replaced = find({ tenant, handle });
      if (replaced) remove(tenant, replaced);
      const frames = tenants.get(tenant) ?? new Map<string, KeptFrame>();
      tenants.set(tenant, frames.set(handle.toLowerCase(), frame));
    },
    /** Gives a frame other metadata, with a handle that must be free. */
    rename(tenant: string, frame: KeptFrame, info: FrameInfo): void {
      const frames = tenants.get(tenant);
      frames?.delete(frame.info.handle.toLowerCase());
      frame.info = info;
      frames?.set(info.handle.toLowerCase(), frame);
    },
    remove,
    removeExpired: (): void => removeWhere(isExpired),
    removeAll: (): void => removeWhere(() => true),
    /** Opens a frame for reading. Its bytes count until it is closed, even if the frame is removed. */
    open(frame: KeptFrame): OpenFrame {
      readers.set(frame, (readers.get(frame) ?? 0) + 1);
      return openFrame(frame, () => {
        const left = (readers.get(frame) ?? 0) - 1;
        if (left > 0) readers.set(frame, left);
        else readers.delete(frame);
        release(frame);
      });
    },
  };
}

function openFrame(frame: KeptFrame, onClose: () => void): OpenFrame {
  let isOpen = true;
  return {
    info: frame.info,
    read: ({ offset = 0, limit = Infinity, columns, signal } = {}) => {
      const { schema, indices } = selectColumns(frame.schema, columns);
      return { schema, batches: sliceBatches(frame.batches, { schema, indices, offset, limit, signal }) };
    },
    close: () => {
      if (isOpen) onClose();
      isOpen = false;
    },
  };
}

function isExpired({ info }: KeptFrame): boolean {
  return info.expires !== null && info.expires.getTime() <= Date.now();
}

function doesNotFit({ maxBytes, usedBytes }: ByteBudget): ServiceError {
  return new ServiceError(
    'out_of_memory',
    `The frame does not fit: frames may use ${maxBytes} bytes of memory, and ${usedBytes} of them are in use.`,
  );
}
