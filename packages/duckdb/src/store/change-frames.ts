import type { FrameInfo, FrameRef, Handle } from '@svc/frames';
import { checkFree, checkOtherHandle, expiryOf } from '@svc/frames/store';
import { hasCode } from '@svc/objects/internal';
import { infoOf, partsOf, type StagedPart, type StoredFrame } from './catalogue/stored-frame.ts';
import { checkConditions } from './put-frame.ts';
import { missingFile, readOnlyFrame } from './store-errors.ts';
import type { StoreParts } from './store-parts.ts';

/** Changes when a frame expires. Undefined if there is no such frame. */
export async function expireFrame(
  parts: StoreParts,
  ref: FrameRef,
  ttlSeconds: number | null,
): Promise<FrameInfo | undefined> {
  const { catalogue, reader, hot } = parts;
  return catalogue.change(ref, async () => {
    const frame = await changeable(parts, ref);
    if (frame === undefined) return undefined;
    const contents = await reader.describe(frame);
    await parts.checkLock();
    await catalogue.setExpiry(frame, expiryOf(parts.now(), ttlSeconds));
    return infoOf(frame, contents, hot.has(frame));
  });
}

/** Drops a frame. Returns false if there is no such frame. */
export async function dropFrame(parts: StoreParts, ref: FrameRef): Promise<boolean> {
  return parts.catalogue.change(ref, async () => {
    const frame = await changeable(parts, ref);
    if (frame === undefined) return false;
    await parts.checkLock();
    await parts.catalogue.drop(frame);
    return true;
  });
}

/**
 * Gives a frame another handle. Its files get names in another folder: no rows are copied, and readers go on.
 * Undefined if there is no such frame.
 */
export async function renameFrame(parts: StoreParts, ref: FrameRef, handle: Handle): Promise<FrameInfo | undefined> {
  const { catalogue, reader, hot, merger } = parts;
  const target = { tenant: ref.tenant, handle };
  return catalogue.changeBoth([ref, target], async () => {
    const frame = await changeable(parts, ref);
    if (frame === undefined) return undefined;
    checkOtherHandle(ref.handle, handle);
    checkFree(target, await checkConditions(parts, target, {}));
    const contents = await reader.describe(frame);
    const staged = partsOf(frame).map(({ path: from, size }): StagedPart => ({
      from,
      size,
      isKept: true,
    }));
    await parts.checkLock();
    const next = { version: catalogue.nextVersion(target), parts: staged, contents, expires: frame.expires };
    const renamed = await catalogue.rename(frame, handle, next).catch((error: unknown) => {
      throw hasCode(error, 'ENOENT') ? missingFile(ref.handle, error) : error;
    });
    merger.consider(renamed);
    return infoOf(renamed, contents, hot.has(renamed));
  });
}

/** Finds the frame with exactly this handle, if it was put. A foreign frame is `permission_denied`. */
async function changeable({ catalogue, foreign }: StoreParts, ref: FrameRef): Promise<StoredFrame | undefined> {
  const put = await catalogue.find(ref);
  if (put) return put.handle === ref.handle ? put : undefined;
  if (await foreign.find(ref)) throw readOnlyFrame(ref.handle);
  return undefined;
}
