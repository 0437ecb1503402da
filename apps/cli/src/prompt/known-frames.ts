import type { Client } from '../client/client.ts';
import { listFrames } from '../client/list-frames.ts';
import type { ListedFrame } from '../client/server-responses.ts';

/** The frames for completion. */
export interface KnownFrames {
  /** Returns the cached frames; refreshes stale ones first, within a short timeout. */
  look(): Promise<readonly ListedFrame[]>;
  /** Starts to fill the cache again: frames have changed. */
  refresh(): void;
}

/** The longest acceptable wait for a Tab. */
const TIMEOUT_MS = 1000;
/** The age at which the cache is refreshed. */
const FRESH_MS = 5000;

/** Creates the cache and starts to fill it, so that the first Tab is fast. */
export function createKnownFrames(client: Client): KnownFrames {
  let frames: readonly ListedFrame[] = [];
  let atMs = 0;
  let refreshing: Promise<void> | undefined;

  function refresh(): Promise<void> {
    refreshing ??= firstPage(client)
      .then((page) => {
        frames = page;
        atMs = performance.now();
      })
      // A completion has no place to show an error.
      .catch(() => {})
      .finally(() => (refreshing = undefined));
    return refreshing;
  }
  void refresh();

  return {
    async look() {
      const isFresh = atMs > 0 && performance.now() - atMs < FRESH_MS;
      if (!isFresh) await Promise.race([refresh(), timeout()]);
      return frames;
    },
    refresh: () => void refresh(),
  };
}

async function firstPage(client: Client): Promise<readonly ListedFrame[]> {
  for await (const page of listFrames(client, undefined)) return page;
  return [];
}

function timeout(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, TIMEOUT_MS));
}
