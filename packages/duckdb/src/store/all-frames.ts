import { statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Handle, ListedFrame, ListOptions, StoreUsage } from '@svc/frames';
import { createYield } from '@svc/frames/async';
import { type FrameContents, infoOf, partsOf, type StoredFrame } from './catalogue/stored-frame.ts';
import { forEachConcurrently } from './catalogue/tenant-folder.ts';
import type { ForeignName } from './foreign/foreign-frames.ts';
import { isDamage } from './store-errors.ts';
import type { StoreParts } from './store-parts.ts';

/** A stored frame, or the name of a foreign one. */
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
 * Lists frames of a tenant for clients, sorted by handle. Undescribed files are described in the
 * background; the list does not wait for many of them.
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
      else if (frame.failure === undefined && !describing.isUnreadable(frame)) listed.push(undescribed(frame));
    }
  }
  return listed;
}

/** Describes all readable frames of a tenant, sorted by handle. Waits for undescribed ones. */
export async function describeFrames(parts: StoreParts, tenant: string): Promise<readonly KnownFrame[]> {
  const frames = await loadFrames(parts, tenant, await namesOf(parts, tenant));
  const known = await Promise.all(
    frames.filter(isReadable).map(async (frame) => ({ frame, contents: await parts.describing.add(frame) })),
  );
  return known.flatMap(({ frame, contents }) => (contents ? [{ frame, contents }] : []));
}

/** Returns the selected handles of a tenant, sorted. A stored frame hides a foreign file with its handle. */
export async function namesOf(
  { catalogue, foreign, isReadOnly }: StoreParts,
  tenant: string,
  { prefix = '', after = '' }: ListOptions = {},
): Promise<readonly Named[]> {
  if (isReadOnly) await catalogue.rescan();
  catalogue.removeExpired();
  const own = await catalogue.of(tenant);
  const others = await foreign.names(tenant);
  const ownKeys = new Set(others.length === 0 ? [] : own.map(({ handle }) => handle.toLowerCase()));
  const isWanted = (handle: string): boolean => handle.startsWith(prefix) && handle > after;
  const named: Named[] = [];
  const pause = createYield();
  let at = 0;
  // Both are sorted.
  for (const name of others) {
    await pause();
    if (!isWanted(name.handle) || ownKeys.has(name.handle.toLowerCase())) continue;
    for (; (own[at]?.handle ?? name.handle) < name.handle; at += 1) addOwn(own[at]);
    named.push({ handle: name.handle, name });
  }
  for (; at < own.length; at += 1) addOwn(own[at]);
  return named;

  function addOwn(frame: StoredFrame | undefined): void {
    if (frame && isWanted(frame.handle)) named.push({ handle: frame.handle, frame });
  }
}

/** Loads the current files of foreign frames, without missing ones. */
async function loadFrames({ foreign }: StoreParts, tenant: string, named: readonly Named[]): Promise<StoredFrame[]> {
  const loaded: (StoredFrame | undefined)[] = named.map(({ frame }) => frame);
  const others = [...named.entries()].filter(([, { name }]) => name !== undefined);
  await forEachConcurrently(others, async ([at, { name }]) => {
    if (name) loaded[at] = await foreign.load(tenant, name);
  });
  return loaded.filter((frame) => frame !== undefined);
}

/** False for a malformed frame, once it is reported. */
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

/** Waits for promises. False if they take too long. */
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
function undescribed(frame: StoredFrame): ListedFrame {
  const { handle, created, version, expires } = frame;
  return {
    handle,
    rows: null,
    bytes: frame.fileBytes ?? 0,
    columns: null,
    created,
    version,
    expires,
    tier: 'disk',
  };
}

/** Health checks measure the usage: a hanging disk must not block them. */
const STATFS_TIMEOUT_MS = 1000;

/** Measures the disk space of frames, and the free space. */
export async function measureUsage({ catalogue, directory }: StoreParts): Promise<StoreUsage> {
  catalogue.removeExpired();
  const current = await catalogue.all();
  const sizes = new Map<string, number>();
  const pause = createYield();
  for (const frame of [...current, ...catalogue.pins.inUse()]) {
    await pause();
    // Versions share parts: each counts once.
    for (const { path, size } of partsOf(frame)) sizes.set(path, size.fileBytes);
  }
  let bytes = 0;
  for (const size of sizes.values()) bytes += size;
  // A failing disk counts as full; the failure itself is among the faults of the store.
  const noRoom = { bavail: 0, bsize: 0 };
  const timeout = sleep(STATFS_TIMEOUT_MS, noRoom, { ref: false });
  const disk = await Promise.race([statfs(directory).catch(() => noRoom), timeout]);
  return {
    frames: current.length,
    bytes,
    freeBytes: disk.bavail * disk.bsize,
  };
}

/** The result of comparing the files of a frame with their checksums. */
export interface FrameVerdict {
  readonly tenant: string;
  readonly handle: Handle;
  /** The first damaged or unchecked file, else the file of the version. */
  readonly path: string;
  /** `unchecked`: a file can be read, but has no checksums. `unreadable`: it could not be compared. */
  readonly state: 'intact' | 'unchecked' | 'damaged' | 'unreadable';
  /** Why the file is not intact, if known. */
  readonly cause?: unknown;
}

/** Compares every stored frame with its checksums, one at a time. */
export async function* verifyFrames(
  { catalogue, reader }: Pick<StoreParts, 'catalogue' | 'reader'>,
  signal?: AbortSignal,
): AsyncGenerator<FrameVerdict, void> {
  const options = { again: true, ...(signal && { signal }) };

  async function verify(frame: StoredFrame): Promise<Omit<FrameVerdict, 'tenant' | 'handle'> | undefined> {
    const own = catalogue.fileOf(frame);
    let path = own;
    try {
      await reader.describe(frame);
      let unchecked: string | undefined;
      for (const part of partsOf(frame)) {
        ({ path } = part);
        if (!(await reader.verify(frame, { ...options, part })).isChecked) unchecked ??= path;
      }
      return unchecked === undefined ? { path: own, state: 'intact' } : { path: unchecked, state: 'unchecked' };
    } catch (error) {
      signal?.throwIfAborted();
      const cause = error instanceof Error ? error.cause : error;
      if (isDamage(cause)) return { path, state: 'damaged', cause };
      // Files that are not pinned may be removed meanwhile.
      return (await catalogue.find(frame)) === frame ? { path, state: 'unreadable', cause } : undefined;
    }
  }

  for (const { tenant, handle, failure } of catalogue.notTakenOver()) {
    yield { tenant, handle, path: catalogue.pathOf(tenant), state: 'damaged', cause: failure };
  }
  for (const frame of await catalogue.all()) {
    signal?.throwIfAborted();
    const found = await verify(frame);
    const { tenant, handle } = frame;
    if (found !== undefined) yield { tenant, handle, ...found };
  }
}
