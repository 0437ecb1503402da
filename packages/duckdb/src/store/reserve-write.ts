import { stat } from 'node:fs/promises';
import type { FrameRef, PutOptions } from '@svc/frames';
import type { WriteReservation, WriteReservations } from '@svc/frames/internal';
import type { Catalogue } from './catalogue/catalogue.ts';
import { pathsOf } from './catalogue/stored-frame.ts';
import { forEachConcurrently } from './catalogue/tenant-folder.ts';
import { followSize } from '../files/watch-size.ts';

/** The parts of a store that reserving needs. */
interface Reserving {
  readonly catalogue: Pick<Catalogue, 'byKey'>;
  readonly reservations: WriteReservations;
}

/** Reserves what a write is going to store. Throws `quota_exceeded` if the tenant has no room for it. */
export async function reserveWrite(
  { catalogue, reservations }: Reserving,
  ref: FrameRef,
  kind: 'append' | 'put',
  { quota }: PutOptions,
): Promise<WriteReservation> {
  if (quota?.maxBytes !== undefined) await measureFrames(catalogue, ref.tenant);
  return reservations.open(ref, kind, quota);
}

/** The handle in lower case and the bytes of each frame of a tenant. */
export function* sizesOf(catalogue: Pick<Catalogue, 'byKey'>, tenant: string): Iterable<readonly [string, number]> {
  for (const [key, { fileBytes = 0 }] of catalogue.byKey(tenant)) yield [key, fileBytes];
}

/** Measures the frames of a tenant whose size is not known yet: those in one file, after a start. */
async function measureFrames(catalogue: Pick<Catalogue, 'byKey'>, tenant: string): Promise<void> {
  const unknown = [...catalogue.byKey(tenant)].filter(([, { fileBytes }]) => fileBytes === undefined);
  await forEachConcurrently(unknown, async ([, frame]) => {
    const [path = ''] = pathsOf(frame);
    frame.fileBytes = (await stat(path).catch(() => undefined))?.size ?? 0;
  });
}

/**
 * Runs a write to a file, and reserves the bytes that it has so far. The write is cancelled if they exceed the quota, and
 * fails with `quota_exceeded`.
 */
export async function reserveWhileWriting<T>(
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
