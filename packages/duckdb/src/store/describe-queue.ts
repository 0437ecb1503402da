import { withResolvers } from '@svc/frames/async';
import type { Catalogue } from './catalogue/catalogue.ts';
import type { StoreProblem } from './catalogue/store-problem.ts';
import type { ForeignFrames } from './foreign/foreign-frames.ts';
import type { ContentReader } from './frame-contents.ts';
import type { FrameContents, StoredFrame } from './catalogue/stored-frame.ts';

/**
 * Describes frames in the background. The files of a long list take minutes of the file engine, so the queue works on one
 * foreign file at a time, and on none while a request reads a file for the first time. The tenants take turns.
 */
export interface DescribeQueue {
  /** Describes a frame, or joins those who wait for it. Resolves with undefined if it cannot be read. */
  add(frame: StoredFrame): Promise<FrameContents | undefined>;
  /** Runs the work of a request: the queue starts nothing meanwhile. */
  first<T>(work: () => Promise<T>): Promise<T>;
  /** True if nothing of a tenant waits. */
  isIdle(tenant: string): boolean;
  /** True if the last attempt to describe the frame failed. */
  isUnreadable(frame: StoredFrame): boolean;
  /** Stops after the description in progress. */
  close(): void;
}

/** Options of `createDescribeQueue`. */
export interface DescribeQueueOptions {
  readonly catalogue: Pick<Catalogue, 'acquire' | 'isCurrent' | 'release'>;
  readonly foreign: Pick<ForeignFrames, 'find'>;
  readonly reader: Pick<ContentReader, 'describe'>;
  /** Called once with each unreadable frame. */
  readonly onProblem: (problem: StoreProblem) => void;
}

interface Waiting {
  readonly contents: Promise<FrameContents | undefined>;
  readonly resolve: (contents: FrameContents | undefined) => void;
}

/** Files of ours are described together: each takes a fraction of a millisecond then. */
const OWN_AT_ONCE = 64;

/** Under a steady load of requests, a file is still described this often. */
const MAX_PAUSE_MS = 1000;

/** Creates an empty queue. */
export function createDescribeQueue({ catalogue, foreign, reader, onProblem }: DescribeQueueOptions): DescribeQueue {
  const tenants = new Map<string, Map<StoredFrame, Waiting>>();
  const unreadable = new WeakSet<StoredFrame>();
  /** The number of requests in `first`. */
  let requests = 0;
  let onQuiet: (() => void) | undefined;
  let isRunning = false;
  let isClosed = false;
  const findForeign = (frame: StoredFrame) => foreign.find(frame).catch(() => undefined);

  /** Describes a frame of a list. */
  async function describe(frame: StoredFrame): Promise<FrameContents | undefined> {
    await catalogue.acquire(frame, 'description');
    try {
      const contents = await reader.describe(frame);
      unreadable.delete(frame);
      return contents;
    } catch (cause) {
      if (isClosed) return undefined;
      unreadable.add(frame);
      // It is no problem if the frame was dropped or replaced meanwhile.
      const isCurrent = frame.isForeign ? (await findForeign(frame)) === frame : catalogue.isCurrent(frame);
      const kind = frame.isTable === false ? 'not_a_table' : 'unreadable_frame';
      if (isCurrent && !frame.isReported) onProblem({ kind, tenant: frame.tenant, handle: frame.handle, cause });
      frame.isReported = true;
      return undefined;
    } finally {
      catalogue.release(frame);
    }
  }

  /** Takes the next frames when no request is in the way, and puts their tenant behind the others. */
  async function next(): Promise<readonly (readonly [StoredFrame, Waiting])[]> {
    if (requests > 0 && !isClosed) {
      await new Promise<void>((resolve) => {
        onQuiet = resolve;
        setTimeout(resolve, MAX_PAUSE_MS).unref();
      });
    }
    const [longest] = tenants;
    if (longest === undefined) return [];
    const [tenant, waiting] = longest;
    const taken: [StoredFrame, Waiting][] = [];
    for (const [frame, one] of waiting) {
      if (taken.length > 0 && (frame.isForeign || taken[0]?.[0].isForeign)) break;
      taken.push([frame, one]);
      if (taken.length === OWN_AT_ONCE) break;
    }
    for (const [frame] of taken) waiting.delete(frame);
    tenants.delete(tenant);
    if (waiting.size > 0) tenants.set(tenant, waiting);
    return taken;
  }

  async function run(): Promise<void> {
    do {
      const taken = await next();
      await Promise.all(
        taken.map(async ([frame, { resolve }]) => resolve(isClosed ? undefined : await describe(frame))),
      );
      // In the same step: a frame added later starts a new run.
    } while (tenants.size > 0);
    isRunning = false;
  }

  return {
    add(frame) {
      const waiting = tenants.get(frame.tenant) ?? new Map<StoredFrame, Waiting>();
      const known = waiting.get(frame);
      if (known !== undefined) return known.contents;
      const { promise: contents, resolve } = withResolvers<FrameContents | undefined>();
      waiting.set(frame, { contents, resolve });
      tenants.set(frame.tenant, waiting);
      // Later: frames added together are described together.
      if (!isRunning) setImmediate(() => void run());
      isRunning = true;
      return contents;
    },
    async first(work) {
      requests += 1;
      try {
        return await work();
      } finally {
        requests -= 1;
        if (requests === 0) onQuiet?.();
      }
    },
    isIdle: (tenant) => !tenants.has(tenant),
    isUnreadable: (frame) => unreadable.has(frame),
    close() {
      isClosed = true;
      onQuiet?.();
    },
  };
}
