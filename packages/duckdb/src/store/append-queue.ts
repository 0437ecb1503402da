import type { FrameRef, PutResult } from '@svc/frames';
import type { AddedRows } from './conform-rows.ts';
import { type AppendParts, publishAppends, type ReservedAppend, type WaitingAppend } from './publish-appends.ts';

/** Publishes appended rows. Appends to a handle that wait at the same time become durable together. */
export interface AppendQueue {
  /** Resolves when the rows are durable. The version it returns may have been replaced by that of another append. */
  publish(ref: FrameRef, added: AddedRows, options: ReservedAppend): Promise<PutResult>;
}

/** Creates an empty queue. */
export function createAppendQueue(parts: AppendParts): AppendQueue {
  const waiting = new Map<string, WaitingAppend[]>();

  function publishWaiting(ref: FrameRef, key: string, appends: readonly WaitingAppend[]): void {
    const work = parts.catalogue.change(ref, () => {
      // Appends that arrive from now on wait for the next turn.
      waiting.delete(key);
      return publishAppends(parts, ref, appends);
    });
    work.catch((error: unknown) => {
      for (const { reject } of appends) reject(error);
    });
  }

  return {
    publish(ref, added, options) {
      const key = `${ref.tenant}\0${ref.handle.toLowerCase()}`;
      return new Promise((resolve, reject) => {
        const append = { ref, added, options, resolve, reject };
        const others = waiting.get(key);
        if (others) {
          others.push(append);
          return;
        }
        const appends = [append];
        waiting.set(key, appends);
        publishWaiting(ref, key, appends);
      });
    },
  };
}
