import { ServiceError } from '@svc/errors';
import type { RecordBatch, Schema } from 'apache-arrow';
import { type ByteBudget, createByteBudget } from '../byte-budget.ts';
import { selectColumns, sliceBatches } from '../columns/slice-batches.ts';
import type { FrameInfo, FrameRef, OpenFrame } from '../store.ts';

/** A frame in memory. */
export interface KeptFrame {
  info: FrameInfo;
  readonly schema: Schema;
  readonly batches: readonly RecordBatch[];
}

/** The frames of all tenants, within a budget. */
export interface KeptFrames {
  readonly budget: ByteBudget;
  /** The number of frames. */
  readonly size: number;
  /** Finds a frame by handle, ignoring letter case. */
  find(ref: FrameRef): KeptFrame | undefined;
  /** Finds a frame by its exact handle. */
  findExact(ref: FrameRef): KeptFrame | undefined;
  of(tenant: string): readonly KeptFrame[];
  /** The handle in lower case and the bytes of each frame of a tenant that has not expired. */
  sizesOf(tenant: string): Iterable<readonly [key: string, bytes: number]>;
  /** Adds a frame, replacing one with the same handle. Its bytes must already be taken from the budget. */
  set(tenant: string, frame: KeptFrame): void;
  /** Gives a frame other metadata, with a handle that must be free. */
  rename(tenant: string, frame: KeptFrame, info: FrameInfo): void;
  remove(tenant: string, frame: KeptFrame): void;
  removeExpired(): void;
  removeAll(): void;
  /** Opens a frame for reading. Its bytes count until it is closed, even if the frame is removed. */
  open(frame: KeptFrame): OpenFrame;
}

/** Creates an empty set of frames with a budget of `maxBytes`. */
export function createKeptFrames(maxBytes: number): KeptFrames {
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

  function find({ tenant, handle }: FrameRef): KeptFrame | undefined {
    const frame = tenants.get(tenant)?.get(handle.toLowerCase());
    if (frame === undefined || !isExpired(frame)) return frame;
    remove(tenant, frame);
    return undefined;
  }

  return {
    budget,
    get size() {
      return [...tenants.values()].reduce((sum, frames) => sum + frames.size, 0);
    },
    find,
    findExact(ref) {
      const frame = find(ref);
      return frame?.info.handle === ref.handle ? frame : undefined;
    },
    of: (tenant) => [...(tenants.get(tenant)?.values() ?? [])],
    *sizesOf(tenant) {
      for (const [key, frame] of tenants.get(tenant) ?? []) if (!isExpired(frame)) yield [key, frame.info.bytes];
    },
    set(tenant, frame) {
      const { handle } = frame.info;
      const replaced = find({ tenant, handle });
      if (replaced) remove(tenant, replaced);
      const frames = tenants.get(tenant) ?? new Map<string, KeptFrame>();
      tenants.set(tenant, frames.set(handle.toLowerCase(), frame));
    },
    rename(tenant, frame, info) {
      const frames = tenants.get(tenant);
      frames?.delete(frame.info.handle.toLowerCase());
      frame.info = info;
      frames?.set(info.handle.toLowerCase(), frame);
    },
    remove,
    removeExpired: () => removeWhere(isExpired),
    removeAll: () => removeWhere(() => true),
    open(frame) {
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
