import type { Client } from '../client/client.ts';
import { listFrames } from '../client/list-frames.ts';
import type { FrameInfo } from '../client/server-responses.ts';

/** The frames that completion knows. */
export interface KnownFrames {
  /** Those that are known by now, or soon; others at the next time. */
  look(): Promise<readonly FrameInfo[]>;
}

/** Nobody waits longer for a Tab. */
const TIMEOUT_MS = 1000;
/** What is known for so long is asked again. */
const FRESH_MS = 5000;

/** Begins to ask for the frames, so that the first Tab finds them. */
export function createKnownFrames(client: Client): KnownFrames {
  let frames: readonly FrameInfo[] = [];
  let atMs = 0;
  let asking: Promise<void> | undefined;

  function ask(): Promise<void> {
    asking ??= firstPage(client)
      .then((page) => {
        frames = page;
        atMs = performance.now();
      })
      // In the midst of a line nobody can be told.
      .catch(() => {})
      .finally(() => (asking = undefined));
    return asking;
  }
  void ask();

  return {
    async look() {
      const isFresh = atMs > 0 && performance.now() - atMs < FRESH_MS;
      if (!isFresh) await Promise.race([ask(), patience()]);
      return frames;
    },
  };
}

async function firstPage(client: Client): Promise<readonly FrameInfo[]> {
  for await (const page of listFrames(client, undefined)) return page;
  return [];
}

function patience(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, TIMEOUT_MS));
}
