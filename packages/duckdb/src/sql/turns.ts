import { ServiceError } from '@svc/errors';

/** Lets so many at a time do something, and so many wait for that, in their order. */
export interface Turns {
  /** How many have their turn. */
  readonly running: number;
  /** Resolves when it is the caller's turn. */
  wait(signal: AbortSignal): Promise<void>;
  /** Ends a turn. */
  end(): void;
}

/** Nobody has a turn yet. */
export function createTurns(maxConcurrent: number, maxQueued: number): Turns {
  const waiting = new Set<() => void>();
  let running = 0;
  return {
    get running() {
      return running;
    },
    async wait(signal) {
      signal.throwIfAborted();
      if (running < maxConcurrent) {
        running += 1;
        return;
      }
      if (waiting.size >= maxQueued) throw tooMany(maxQueued);
      await new Promise<void>((resolve, reject) => {
        const abort = (): void => {
          waiting.delete(begin);
          reject(signal.reason);
        };
        const begin = (): void => {
          signal.removeEventListener('abort', abort);
          resolve();
        };
        waiting.add(begin);
        signal.addEventListener('abort', abort, { once: true });
      });
    },
    end() {
      const [begin] = waiting;
      if (begin === undefined) {
        running -= 1;
      } else {
        waiting.delete(begin);
        begin();
      }
    },
  };
}

function tooMany(maxQueued: number): ServiceError {
  const waiting = maxQueued === 0 ? 'and none may wait' : `and ${maxQueued} statements wait for one already`;
  return new ServiceError('too_many_requests', `Every engine is busy, ${waiting}.`);
}
