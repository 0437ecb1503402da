import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { FrameInfo, FrameRef, Handle, PutOptions, Quota } from './store.ts';

/**
 * Checks the preconditions of a put or append against the existing frame, found ignoring letter case. All stores share
 * it, and so its messages.
 */
export function checkPutConditions(
  { handle }: FrameRef,
  frame: Pick<FrameInfo, 'handle' | 'version'> | undefined,
  options: PutOptions,
): void {
  if (frame && frame.handle !== handle) {
    throw new ServiceError(
      'handle_exists',
      `The frame ${quoted(frame.handle)} exists, and differs from ${quoted(handle)} only in letter case.`,
      { hint: `Use the handle ${quoted(frame.handle)}, or a different one.` },
    );
  }
  if (frame && options.ifAbsent === true) {
    throw new ServiceError('handle_exists', `The frame ${quoted(handle)} already exists.`);
  }
  if (!frame && options.ifPresent === true) {
    throw new ServiceError('version_conflict', `The frame ${quoted(handle)} does not exist.`, {
      hint: 'Omit the condition to create the frame.',
    });
  }
  if (options.ifVersion !== undefined && options.ifVersion !== frame?.version) {
    const now = frame ? `is version ${quoted(frame.version)} now` : 'does not exist';
    throw new ServiceError('version_conflict', `The frame ${quoted(handle)} ${now}, not ${quoted(options.ifVersion)}.`);
  }
}

/** Checks that the handle a frame is to get has no frame. `existing`: found ignoring letter case. */
export function checkFree(ref: FrameRef, existing: Pick<FrameInfo, 'handle' | 'version'> | undefined): void {
  checkPutConditions(ref, existing, {});
  if (existing === undefined) return;
  throw new ServiceError('handle_exists', `The frame ${quoted(ref.handle)} already exists.`, {
    hint: 'Choose another name. To replace that frame, drop it first.',
  });
}

/** Checks that a frame is to get another handle than it has: only then is the frame in the way another one. */
export function checkOtherHandle(handle: Handle, newHandle: Handle): void {
  if (newHandle === handle) {
    throw new ServiceError('handle_exists', `The frame ${quoted(handle)} has this name already.`, {
      hint: 'Choose another name.',
    });
  }
  if (newHandle.toLowerCase() === handle.toLowerCase()) {
    throw new ServiceError(
      'handle_exists',
      `${quoted(newHandle)} differs from ${quoted(handle)} only in letter case.`,
      {
        hint: 'Rename the frame to a third name, and that to this one.',
      },
    );
  }
}

/** Returns the expiry of a time to live from now; null: never. */
export function expiryOf(now: number, ttlSeconds: number | null): Date | null {
  return ttlSeconds === null ? null : new Date(now + ttlSeconds * 1000);
}

/**
 * The writes in progress of a store. Each reserves what it is going to store, so concurrent ones cannot exceed a quota
 * together: every change of a reservation is checked, synchronously, against an upper bound of what the tenant has when
 * all of its writes are done, in any order.
 */
export interface WriteReservations {
  /**
   * Begins a write. Throws `quota_exceeded` if the tenant has too many frames, or no bytes left for another. A quota
   * applies to the write that names it, but every write counts.
   */
  open(ref: FrameRef, kind: 'append' | 'put', quota: Quota | undefined): WriteReservation;
}

/** What a write reserves. On failure it stays as it was. */
export interface WriteReservation {
  /** True if the bytes of the tenant are limited. */
  readonly isLimited: boolean;
  /** Reserves the bytes the write stores, or has stored so far. Throws `quota_exceeded` if they do not fit. */
  resize(bytes: number): void;
  /** Counts the bytes of a temporary file that receives the upload. Throws `quota_exceeded` if there are too many. */
  receive(bytes: number): void;
  /** Ends the write. What it stored belongs to the frames of the tenant now. */
  close(): void;
}

interface Write {
  /** The handle in lower case. */
  readonly key: string;
  readonly kind: 'append' | 'put';
  bytes: number;
  received: number;
}

/** The temporary files of a tenant's uploads may always have this size: text can be much longer than what it stores. */
const MIN_RECEIVED_BYTES = 64 * 1024 ** 2;

/** Creates an empty set. `sizesOf` yields the current frames of a tenant: the handle in lower case, and the bytes. */
export function createWriteReservations(
  sizesOf: (tenant: string) => Iterable<readonly [key: string, bytes: number]>,
): WriteReservations {
  const tenants = new Map<string, Set<Write>>();

  /** The most frames and bytes the tenant has when its writes are done: of two puts to a handle, one stays. */
  function bound(tenant: string): { readonly frames: number; readonly bytes: number } {
    const replaced = new Map<string, number>();
    let bytes = 0;
    for (const write of tenants.get(tenant) ?? []) {
      replaced.set(write.key, Math.max(replaced.get(write.key) ?? 0, write.kind === 'put' ? write.bytes : 0));
      if (write.kind === 'append') bytes += write.bytes;
    }
    let frames = replaced.size;
    for (const [key, size] of sizesOf(tenant)) {
      const put = replaced.get(key);
      if (put === undefined) frames += 1;
      bytes += Math.max(0, size - (put ?? 0));
    }
    for (const put of replaced.values()) bytes += put;
    return { frames, bytes };
  }

  function checkRoom(tenant: string, write: Write, { maxFrames = Infinity, maxBytes = Infinity }: Quota): void {
    const writes = tenants.get(tenant) ?? new Set();
    const before = bound(tenant);
    writes.add(write);
    const { frames } = bound(tenant);
    writes.delete(write);
    const isNew = frames > before.frames;
    if (isNew && frames > maxFrames) throw tooManyFrames(tenant, maxFrames, before.frames);
    if ((isNew || write.kind === 'append') && before.bytes >= maxBytes) throw isFull(tenant, maxBytes, before.bytes);
  }

  return {
    open({ tenant, handle }, kind, quota = {}) {
      const { maxBytes } = quota;
      const writes = tenants.get(tenant) ?? new Set<Write>();
      tenants.set(tenant, writes);
      const write: Write = { key: handle.toLowerCase(), kind, bytes: 0, received: 0 };
      if (maxBytes !== undefined || quota.maxFrames !== undefined) checkRoom(tenant, write, quota);
      writes.add(write);
      return {
        isLimited: maxBytes !== undefined,
        resize(bytes) {
          const { bytes: reserved } = write;
          const before = maxBytes === undefined || bytes <= reserved ? Infinity : bound(tenant).bytes;
          write.bytes = bytes;
          if (maxBytes === undefined || before === Infinity) return;
          const after = bound(tenant).bytes;
          // A replacement that is not larger is allowed, even if the limit was lowered.
          if (after <= maxBytes || after <= before) return;
          write.bytes = reserved;
          throw doesNotFit(tenant, maxBytes, after);
        },
        receive(bytes) {
          if (maxBytes === undefined || bytes <= write.received) return;
          const received = [...writes].reduce((sum, one) => sum + (one === write ? 0 : one.received), bytes);
          const max = Math.max(maxBytes, MIN_RECEIVED_BYTES);
          if (received > max) throw tooMuchReceived(tenant, max, received);
          write.received = bytes;
        },
        close() {
          writes.delete(write);
          if (writes.size === 0 && tenants.get(tenant) === writes) tenants.delete(tenant);
        },
      };
    },
  };
}

function tooManyFrames(tenant: string, max: number, frames: number): ServiceError {
  const message = `The tenant ${quoted(tenant)} may have ${max} frames (max_frames), and has ${frames}.`;
  return new ServiceError('quota_exceeded', message);
}

function isFull(tenant: string, max: number, bytes: number): ServiceError {
  const message = `The tenant ${quoted(tenant)} may store ${max} bytes (max_bytes), and stores ${bytes}.`;
  return new ServiceError('quota_exceeded', message);
}

function doesNotFit(tenant: string, max: number, bytes: number): ServiceError {
  const message = `The tenant ${quoted(tenant)} may store ${max} bytes (max_bytes), and would store at least ${bytes}.`;
  return new ServiceError('quota_exceeded', message);
}

function tooMuchReceived(tenant: string, max: number, bytes: number): ServiceError {
  return new ServiceError(
    'quota_exceeded',
    `The uploads in progress of the tenant ${quoted(tenant)} may have ${max} bytes (max_bytes), and would have ${bytes}.`,
    { hint: 'Upload less at once, as Parquet or by appending parts, or ask the operator for more.' },
  );
}
