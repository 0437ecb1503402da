import type { FrameInfo, FrameRef, PutOptions } from '@svc/frames';
import { checkPutConditions } from '@svc/frames/internal';
import type { Catalogue } from './catalogue/catalogue.ts';
import type { NextVersion } from './catalogue/publish-version.ts';
import { contentsOf, infoOf, type StoredFrame } from './catalogue/stored-frame.ts';
import type { ForeignFrames } from './foreign/foreign-frames.ts';
import type { StagedRows } from './stage-rows.ts';
import { readOnlyFrame } from './store-errors.ts';

/** The parts of a store that publishing needs. */
export interface Publishing {
  readonly catalogue: Catalogue;
  readonly foreign: Pick<ForeignFrames, 'find'>;
  /** Fails if the directory is no longer locked by this process. */
  readonly checkLock: () => Promise<void>;
}

/** Publishes a file as a version of a frame. Call it only inside `change`. */
export async function publishNew(
  { catalogue, checkLock }: Publishing,
  ref: FrameRef,
  { path, written }: StagedRows,
  next: Pick<NextVersion, 'expires' | 'onCurrent'>,
): Promise<{ readonly frame: StoredFrame; readonly info: FrameInfo }> {
  const contents = contentsOf(written, written.fileBytes);
  const version = catalogue.nextVersion(ref);
  await checkLock();
  const part = { unfinishedPath: path, version, size: written };
  const frame = await catalogue.publish(ref, { version, parts: [part], contents, ...next });
  return { frame, info: infoOf(frame, contents, false) };
}

/** Returns the frame that a change applies to, if any. Throws if the change is not allowed. */
export async function checkConditions(
  { catalogue, foreign }: Publishing,
  ref: FrameRef,
  options: PutOptions,
): Promise<StoredFrame | undefined> {
  options.signal?.throwIfAborted();
  if (catalogue.find(ref) === undefined && (await foreign.find(ref))) throw readOnlyFrame(ref.handle);
  const frame = catalogue.find(ref);
  checkPutConditions(ref, frame, options);
  return frame;
}
