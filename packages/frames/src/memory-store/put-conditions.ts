import { quoted, ServiceError } from '@svc/errors';
import type { FrameInfo, FrameRef, PutOptions } from '../store.ts';

/**
 * Checks the conditions of a put or append against the frame whose handle is this one but for letter case; undefined
 * where there is none. Every store says the same of the same condition.
 */
export function checkPutConditions(
  { handle }: FrameRef,
  frame: Pick<FrameInfo, 'handle' | 'version'> | undefined,
  options: PutOptions,
): void {
  if (frame && frame.handle !== handle) {
    throw new ServiceError(
      'handle_exists',
      `There is a frame ${quoted(frame.handle)}, which differs from ${quoted(handle)} only by letter case.`,
      { hint: `Use the handle ${quoted(frame.handle)}, or another one.` },
    );
  }
  if (frame && options.ifAbsent === true) {
    throw new ServiceError('handle_exists', `There is a frame ${quoted(handle)} already.`);
  }
  if (!frame && options.ifPresent === true) {
    throw new ServiceError('version_conflict', `The frame ${quoted(handle)} does not exist.`, {
      hint: 'Leave the condition out to make a new frame.',
    });
  }
  if (options.ifVersion !== undefined && options.ifVersion !== frame?.version) {
    const now = frame ? `is version ${quoted(frame.version)} now` : 'does not exist';
    throw new ServiceError('version_conflict', `The frame ${quoted(handle)} ${now}, not ${quoted(options.ifVersion)}.`);
  }
}

/** When a life of so many seconds from now on ends; null: never. */
export function expiryOf(now: number, ttlSeconds: number | null): Date | null {
  return ttlSeconds === null ? null : new Date(now + ttlSeconds * 1000);
}
