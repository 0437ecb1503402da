import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { Handle } from '../handle.ts';
import type { FrameInfo, FrameRef, PutOptions } from '../store.ts';

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

/** Checks that the handle that a frame is to get has no frame. `existing`: found ignoring letter case. */
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
