import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Handle, ListedFrame, ListOptions } from '@svc/frames';
import { createYield } from '@svc/frames/internal';
import type { ForeignName } from './foreign/foreign-tables.ts';
import type { StoreParts } from './store-parts.ts';
import { type FrameContents, infoOf, pathsOf, type StoredFrame } from './catalogue/stored-frame.ts';
import { forEachConcurrently } from './catalogue/tenant-folder.ts';

/** A frame that was put, or the name of a foreign one. */
type Named = { readonly handle: Handle } & (
  | { readonly frame: StoredFrame; readonly name?: undefined }
  | { readonly frame?: undefined; readonly name: ForeignName }
);

/** A frame with its contents. */
interface KnownFrame {
  readonly frame: StoredFrame;
  readonly contents: FrameContents;
}

/** A list waits so long for the descriptions of a few files, and for those of many. */
const FEW = { files: 100, waitMs: 2000 };
const MANY_WAIT_MS = 250;

/**
 * Lists frames of a tenant for clients, sorted by handle. Files that are not described yet are described in the
 * background; the list does not wait for them if there are many.
 */
export async function listFrames(
  parts: StoreParts,
  tenant: string,
  options: ListOptions,
): Promise<readonly ListedFrame[]> {
  const { describing, hot } = parts;
  const named = await namesOf(parts, tenant, options);
  // With a backlog, what this list adds comes last.
  let mayWait = describing.isIdle(tenant);
  const { limit = Infinity } = options;
  const listed: ListedFrame[] = [];
  const pause = createYield();
  // An unreadable frame is left out, and the next one takes its place.
  for (let at = 0; at < named.length && listed.length < limit;) {
    const page = named.slice(at, at + Math.min(limit - listed.length, named.length));
    at += page.length;
    const frames = await loadFrames(parts, tenant, page);
    const all = await describeAll(parts, frames);
    if (all.length > 0 && mayWait) mayWait = await settles(all, all.length > FEW.files ? MANY_WAIT_MS : FEW.waitMs);
    for (const frame of frames) {
      await pause();
      if (frame.contents) listed.push(infoOf(frame, frame.contents, hot.has(frame)));
      else if (frame.failure === undefined && !describing.isUnreadable(frame)) listed.push(await undescribed(frame));
    }
  }
  return listed;
}

/** Describes all frames of a tenant that can be read, sorted by handle. Waits for those that are not described yet. */
export async function describeFrames(parts: StoreParts, tenant: string): Promise<readonly KnownFrame[]> {
  const frames = await loadFrames(parts, tenant, await namesOf(parts, tenant));
  const known = await Promise.all(
    frames.filter(isReadable).map(async (frame) => ({ frame, contents: await parts.describing.add(frame) })),
  );
  return known.flatMap(({ frame, contents }) => (contents ? [{ frame, contents }] : []));
}

/** Returns the selected handles of a tenant, sorted. A foreign file with the handle of a frame that was put is hidden. */
export async function namesOf(
  { catalogue, foreign, isReadOnly }: StoreParts,
  tenant: string,
  { prefix = '', after = '' }: ListOptions = {},
): Promise<readonly Named[]> {
  if (isReadOnly) await catalogue.rescan();
  catalogue.removeExpired();
  const own = catalogue.of(tenant);
  const others = await foreign.names(tenant);
  const isWanted = (handle: string): boolean => handle.startsWith(prefix) && handle > after;
  const named: Named[] = [];
  const pause = createYield();
  let at = 0;
  // Both are sorted.
  for (const name of others) {
    await pause();
    if (!isWanted(name.handle) || catalogue.find({ tenant, handle: name.handle })) continue;
    for (; (own[at]?.handle ?? name.handle) < name.handle; at += 1) addOwn(own[at]);
    named.push({ handle: name.handle, name });
  }
  for (; at < own.length; at += 1) addOwn(own[at]);
  return named;

  function addOwn(frame: StoredFrame | undefined): void {
    if (frame && isWanted(frame.handle)) named.push({ handle: frame.handle, frame });
  }
}

/** Loads the current files of foreign frames; leaves out those that are gone. */
async function loadFrames({ foreign }: StoreParts, tenant: string, named: readonly Named[]): Promise<StoredFrame[]> {
  const loaded: (StoredFrame | undefined)[] = named.map(({ frame }) => frame);
  const others = [...named.entries()].filter(([, { name }]) => name !== undefined);
  await forEachConcurrently(others, async ([at, { name }]) => {
    if (name) loaded[at] = await foreign.load(tenant, name);
  });
  return loaded.filter((frame) => frame !== undefined);
}

/** False for a malformed frame that was reported. */
function isReadable({ failure, isReported }: StoredFrame): boolean {
  return failure === undefined || isReported === undefined;
}

/** Starts to describe frames in the background, unless memory has no room for their descriptions. */
async function describeAll(
  { describing }: StoreParts,
  frames: readonly StoredFrame[],
): Promise<readonly Promise<unknown>[]> {
  const all: Promise<unknown>[] = [];
  const pause = createYield();
  for (const frame of frames) {
    await pause();
    if (!frame.contents && !frame.isForgotten && isReadable(frame)) all.push(describing.add(frame));
  }
  return all;
}

/** Waits for promises; false if that takes too long. */
async function settles(promises: readonly Promise<unknown>[], waitMs: number): Promise<boolean> {
  const over = new AbortController();
  const timeout = sleep(waitMs, false, { signal: over.signal, ref: false }).catch(() => false);
  try {
    return await Promise.race([Promise.all(promises).then(() => true), timeout]);
  } finally {
    over.abort();
  }
}

/** What is known of a frame whose description is not in memory. */
async function undescribed(frame: StoredFrame): Promise<ListedFrame> {
  const { handle, created, version, expires } = frame;
  frame.fileBytes ??= (await stat(pathsOf(frame)[0] ?? '').catch(() => undefined))?.size ?? 0;
  return { handle, rows: null, bytes: frame.fileBytes, columns: null, created, version, expires, tier: 'disk' };
}
