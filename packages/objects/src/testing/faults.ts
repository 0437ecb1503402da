import { ServiceError } from '@svc/errors';
import { type Objects, OutcomeUnknown } from '../objects.ts';

/** What goes wrong, and how often. */
export interface Faults {
  readonly clock: { readonly sleep: (ms: number) => Promise<void> };
  /** Numbers from 0 to below 1. */
  readonly random: () => number;
  /** The share of calls with a fault. */
  readonly rate: number;
  /** How long a call takes at most, before it acts and after. Default 10. */
  readonly delayMs?: number;
  /** How late a call may act after its answer was lost. Default 300. */
  readonly lateMs?: number;
}

/**
 * Lets calls fail as they do over a network: refused, done without an answer, done long after the caller gave up, done
 * twice, or slow. Between a call and its effect other calls come in.
 */
export function withFaults(objects: Objects, faults: Faults): Objects {
  const { clock, random, rate, delayMs = 10, lateMs = 300 } = faults;
  const pause = (ms: number): Promise<void> => clock.sleep(random() * ms);

  async function call<T>(work: () => Promise<T>, refusal: () => Error, noAnswer: (cause: Error) => Error): Promise<T> {
    await pause(delayMs);
    const fault = random() < rate ? Math.floor(random() * 5) : undefined;
    const lost = new Error('The connection was lost.');
    if (fault === 0) throw refusal();
    if (fault === 1) {
      // Late: the caller has its error before anything happens.
      void pause(lateMs)
        .then(work)
        .catch(() => {});
      throw noAnswer(lost);
    }
    if (fault === 2) await pause(lateMs);
    let result = await work();
    if (fault === 3) {
      // A proxy sent the request twice, and has only the second answer.
      result = await work().catch((error: Error) => {
        throw noAnswer(error);
      });
    }
    await pause(delayMs);
    if (fault === 4) throw noAnswer(lost);
    return result;
  }

  const unavailable = (): Error => new ServiceError('unavailable', 'The home of the objects does not answer.');
  const read = <T>(work: () => Promise<T>): Promise<T> => call(work, unavailable, unavailable);

  return {
    get: (key, options) => read(() => objects.get(key, options)),
    stat: (key, signal) => read(() => objects.stat(key, signal)),
    create: (key, body, signal) =>
      call(
        () => objects.create(key, body, signal),
        unavailable,
        (cause) => new OutcomeUnknown(key, cause),
      ),
    async *list(prefix, options) {
      yield* await read(async () => {
        const keys = [];
        for await (const key of objects.list(prefix, options)) keys.push(key);
        return keys;
      });
    },
    async remove(keys, signal) {
      for (const key of keys) await read(() => objects.remove([key], signal));
    },
  };
}

/** Random numbers that depend on a seed alone (xorshift32). */
export function randomOf(seed: number): () => number {
  let state = Math.imul(seed + 1, 0x9e3779b1) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
