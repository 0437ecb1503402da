import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '@svc/errors';
import { type Objects, OutcomeUnknown, readObject } from '@svc/objects';

/**
 * The log of one frame: immutable entries 0, 1, 2 and so on. The newest says all that the frame is; to change the frame is to
 * create the next number, which only one process can. So there is no lock, no leader, and no pointer that is swapped.
 *
 * Every call is linearizable: entry n + 1 is made only by someone who has read n, so the entries are one chain. A change takes
 * effect when its name appears. A read returns n only if n + 1 was absent at a moment of the read.
 */
export interface FrameLog<State> {
  /** The newest entry, at a moment after the call began. Undefined: there is none. */
  newest(signal?: AbortSignal): Promise<NumberedEntry<State> | undefined>;
  /** True if the newest entry is still the one that was seen. Much cheaper than reading it. */
  isAt(seen: SeenEntry): Promise<boolean>;
  /**
   * Changes the frame. `next` gets its state and the newest entry, and returns the new state, or undefined to change nothing;
   * it runs again if another process was faster, and may throw. Rejects with `OutcomeUnknown` if the change may take effect
   * later: what the new state names must stay then.
   */
  change(
    next: (now: State | undefined, newest: NumberedEntry<State> | undefined) => Promise<State | undefined>,
    signal?: AbortSignal,
  ): Promise<NumberedEntry<State> | undefined>;
  /**
   * Removes old entries, the oldest first. The newest stay, those younger than `minAgeMs`, and those from number `before` on.
   */
  trim(keep: number, before?: number, signal?: AbortSignal): Promise<void>;
}

/** An entry of a log. */
export interface LogEntry<State> {
  /** Tells an entry from another with the same number. */
  readonly id: string;
  /** The ids of the entries before, the newest first, at most `RECENT_IDS`. */
  readonly recent: readonly string[];
  readonly state: State;
}

/** An entry that someone has seen as the newest one. `tag` tells it from a later one with the same number. */
export interface SeenEntry {
  readonly number: number;
  readonly tag: string;
}

/** An entry and what tells it from others. */
export interface NumberedEntry<State> extends LogEntry<State>, SeenEntry {}

/** An entry that is not written yet. */
type NextEntry<State> = Omit<NumberedEntry<State>, 'tag'>;

/** Converts entries to bytes and back. */
export interface EntryCodec<State> {
  /** `before`: the state that the entry changes. */
  encode(entry: LogEntry<State>, before: State | undefined): Uint8Array;
  /** Throws if the bytes are not an entry. */
  decode(bytes: Uint8Array): LogEntry<State>;
}

/** Options of `createFrameLog`. */
export interface FrameLogOptions<State> {
  readonly objects: Objects;
  /** The keys of the entries start with it; it ends with a slash. */
  readonly prefix: string;
  readonly codec: EntryCodec<State>;
  /** Where reading begins. Without it, the first call lists the log twice. */
  readonly seen?: SeenEntry | undefined;
  /** How long to ask a home that does not answer. Default 10 s. */
  readonly deadlineMs?: number;
  /**
   * Only entries this much older than the newest are removed, by the clock of the home. Default 30 minutes: a bucket accepts a
   * request up to 15 minutes after it was signed, and the same bytes created again within a second may have the same tag. For
   * a directory, a few seconds are enough.
   */
  readonly minAgeMs?: number;
  /** Default: the monotonic clock of the process. */
  readonly clock?: { now(): number; sleep(ms: number): Promise<unknown> };
  /** For ids and for pauses. Default: real ones. */
  readonly random?: { id(): string; number(): number };
}

/** The number of ids that an entry remembers. */
const RECENT_IDS = 64;

/** An entry lists the parts of a frame, and its schema has up to 64 MiB. */
export const MAX_ENTRY_BYTES = 128 * 1024 * 1024;

/** After that the log is read again before an entry is created: others may have removed what was read. */
const MAX_CHANGE_MS = 60_000;

/** So often a change that takes that long is tried. */
const MAX_SLOW_RUNS = 3;

/** Each attempt waits for up to 0.1 s: the last one comes after some seconds. */
const MAX_ATTEMPTS = 100;

const MIN_AGE_MS = 30 * 60_000;

const SYSTEM_CLOCK = { now: () => performance.now(), sleep };
const SYSTEM_RANDOM = { id: randomUUID, number: Math.random };

/** The name of an entry in the folder of its log. */
export function entryName(number: number): string {
  return `${String(number).padStart(20, '0')}.json`;
}

/**
 * Reads entries. A name alone proves nothing: it may be a *stray*, created late by a process that slept while its number was
 * used and removed. Two facts tell. The greatest number of a list is no stray, because the greatest is never removed. And
 * entries are removed in ascending order: while an entry is there, the next one was not removed either.
 */
function createEntryReader<State>({ objects, prefix, codec, seen: given }: FrameLogOptions<State>) {
  let seen: NumberedEntry<State> | undefined;
  const keyOf = (number: number): string => prefix + entryName(number);

  async function read(number: number, signal?: AbortSignal): Promise<NumberedEntry<State> | undefined> {
    const found = await readObject(objects, keyOf(number), MAX_ENTRY_BYTES, signal);
    return found && { ...codec.decode(found.bytes), number, tag: found.tag };
  }

  async function tagOf(number: number, signal?: AbortSignal): Promise<string | undefined> {
    return (await objects.stat(keyOf(number), signal))?.tag;
  }

  /** When an entry was created, by the clock of the home. */
  async function timeOf(number: number, signal?: AbortSignal): Promise<number | undefined> {
    return (await objects.stat(keyOf(number), signal))?.modified.getTime();
  }

  async function isThere({ number, tag }: SeenEntry, signal?: AbortSignal): Promise<boolean> {
    return (await tagOf(number, signal)) === tag;
  }

  async function isAt(last: SeenEntry, signal?: AbortSignal): Promise<boolean> {
    const hasNext = (await tagOf(last.number + 1, signal)) !== undefined;
    return !hasNext && (await isThere(last, signal));
  }

  /** The numbers of all entries, in ascending order. */
  async function numbers(signal?: AbortSignal): Promise<number[]> {
    const found: number[] = [];
    for await (const key of objects.list(prefix, signal && { signal })) {
      const number = Number(/^([0-9]{20})\.json$/.exec(key.slice(prefix.length))?.[1]);
      // Any other name is not ours.
      if (Number.isSafeInteger(number)) found.push(number);
    }
    return found;
  }

  async function readGreatest(signal?: AbortSignal): Promise<NumberedEntry<State> | undefined> {
    let number = (await numbers(signal)).at(-1);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      if (number === undefined) return undefined;
      const found = await read(number, signal);
      // Listed again after it was read: between the first list and the read, its name may have become that of a stray.
      const greatest = (await numbers(signal)).at(-1);
      if (found !== undefined && greatest === number) return (seen = found);
      number = greatest;
    }
    throw tooManyChanges();
  }

  async function identityOf(number: number): Promise<{ readonly id: string; readonly tag: string } | undefined> {
    const found = await read(number);
    return found && { id: found.id, tag: found.tag };
  }

  return {
    keyOf,
    identityOf,
    tagOf,
    timeOf,
    isThere,
    isAt,
    numbers,
    /** Makes an entry that is no stray the one that the next read begins with. */
    remember(entry: NumberedEntry<State>): void {
      seen = entry;
    },
    /** The tag of an entry of the chain. Empty: others have gone on. */
    knownTag: ({ id }: LogEntry<State>): string => (seen?.id === id ? seen.tag : ''),
    /** The newest entry, at a moment after the call began. */
    async newest(signal?: AbortSignal): Promise<NumberedEntry<State> | undefined> {
      const last = seen ?? given;
      if (last === undefined) return readGreatest(signal);
      const { number } = last;
      if (await isAt(last, signal)) {
        if (seen === last) return seen;
        const found = await read(number, signal);
        return found?.tag === last.tag ? (seen = found) : readGreatest(signal);
      }
      const next = await read(number + 1, signal);
      // The last entry was there after the next was read, so that is no stray. Most often it is the newest.
      if (next === undefined || !(await isThere(last, signal))) return readGreatest(signal);
      return (await isAt(next, signal)) ? (seen = next) : readGreatest(signal);
    },
  };
}

/** Opens a log. Nothing is read before the first call. */
export function createFrameLog<State>(options: FrameLogOptions<State>): FrameLog<State> {
  const { objects, codec, deadlineMs = 10_000, minAgeMs = MIN_AGE_MS } = options;
  const { clock = SYSTEM_CLOCK, random = SYSTEM_RANDOM } = options;
  const entries = createEntryReader(options);

  /** Repeats what may be done twice until there is an answer, or the time is over. */
  async function patiently<T>(end: number, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        const isPassing = error instanceof ServiceError && error.code === 'unavailable';
        if (!isPassing || signal?.aborted === true || clock.now() > end) throw error;
        await pause(60);
      }
    }
  }

  function pause(ms: number): Promise<unknown> {
    return clock.sleep((0.2 + 0.8 * random.number()) * ms);
  }

  function readNewest(signal?: AbortSignal): Promise<NumberedEntry<State> | undefined> {
    return patiently(clock.now() + deadlineMs, () => entries.newest(signal), signal);
  }

  /**
   * Creates an entry on top of the one before. False: another process was faster. The answer of the home alone is never
   * trusted: a proxy may have sent the request twice, and a request that was on its way for long may meet a number that was
   * used and removed.
   */
  async function append(
    entry: NextEntry<State>,
    before: NumberedEntry<State> | undefined,
    signal?: AbortSignal,
  ): Promise<boolean> {
    const key = entries.keyOf(entry.number);
    const bytes = codec.encode(entry, before?.state);
    // No process could read it, or change the frame again.
    if (bytes.length > MAX_ENTRY_BYTES) throw tooLarge(bytes.length);
    const end = clock.now() + deadlineMs;
    let isSent = false;
    for (;;) {
      try {
        const isCreated = await objects.create(key, bytes, signal);
        isSent = true;
        return await patiently(end, () => isPart(entry, before, isCreated));
      } catch (error) {
        // Nothing was written, now or before.
        if (!(error instanceof OutcomeUnknown) && !isSent) throw error;
        isSent = true;
        if (signal?.aborted === true || clock.now() > end) throw new OutcomeUnknown(key, error);
        await pause(60);
        // What is still on its way has the same bytes: it does not matter which of the requests creates the name.
      }
    }
  }

  /** True if an entry belongs to the chain. `isCreated`: it was created just now. */
  async function isPart(
    entry: NextEntry<State>,
    before: NumberedEntry<State> | undefined,
    isCreated: boolean,
  ): Promise<boolean> {
    const { id, number } = entry;
    const there = isCreated ? { id, tag: await entries.tagOf(number) } : await entries.identityOf(number);
    if (there?.tag !== undefined && before !== undefined && (await entries.isThere(before))) {
      // The entry before was there later, so this number was never removed, and what has it is no stray.
      if (there.id !== id) return false;
      // The next call need not read it.
      entries.remember({ ...entry, tag: there.tag });
      return true;
    }
    const newest = await entries.newest();
    if (newest === undefined || newest.number < number) return false;
    if (newest.number === number) return newest.id === id;
    if (newest.number - number > RECENT_IDS) throw new OutcomeUnknown(entries.keyOf(number), undefined);
    return newest.recent.includes(id);
  }

  return {
    newest: readNewest,
    isAt: (seen) => patiently(clock.now() + deadlineMs, () => entries.isAt(seen)),
    async change(next, signal) {
      let slowRuns = 0;
      for (let attempt = 1; ; attempt++) {
        const readAt = clock.now();
        const before = await readNewest(signal);
        const state = await next(before?.state, before);
        if (state === undefined) return undefined;
        const isSlow = clock.now() - readAt > MAX_CHANGE_MS;
        const last = isSlow ? await readNewest(signal) : before;
        if (last?.id === before?.id) {
          const entry = entryAfter(before, random.id(), state);
          if (await append(entry, before, signal)) return { ...entry, tag: entries.knownTag(entry) };
        }
        if (isSlow && (slowRuns += 1) === MAX_SLOW_RUNS) throw tooSlow();
        if (attempt === MAX_ATTEMPTS) throw tooManyChanges();
        await pause(10 * Math.min(attempt, 10));
      }
    },
    async trim(keep, before = Infinity, signal) {
      const numbers = await entries.numbers(signal);
      const newest = await entries.timeOf(numbers.at(-1) ?? 0, signal);
      const old: number[] = [];
      for (const number of numbers.slice(0, -keep)) {
        if (number >= before) break;
        const time = await entries.timeOf(number, signal);
        const isOld = newest !== undefined && newest - (time ?? 0) >= minAgeMs;
        // Those after it stay as well: while an entry is there, the next one must be.
        if (!isOld) break;
        old.push(number);
      }
      await objects.remove(old.map(entries.keyOf), signal);
    },
  };
}

function entryAfter<State>(before: NumberedEntry<State> | undefined, id: string, state: State): NextEntry<State> {
  if (before === undefined) return { id, recent: [], state, number: 0 };
  return { id, recent: [before.id, ...before.recent].slice(0, RECENT_IDS), state, number: before.number + 1 };
}

function tooLarge(bytes: number): ServiceError {
  const message = `The entry in the log of the frame would have ${bytes} bytes, more than ${MAX_ENTRY_BYTES}.`;
  return new ServiceError('payload_too_large', message, { hint: 'Use fewer columns, or shorter names.' });
}

function tooSlow(): ServiceError {
  const message = 'The change takes more than a minute, and the frame was changed by others each time.';
  return new ServiceError('unavailable', message, {
    hint: 'Retry when others change the frame less often, or make the change smaller.',
  });
}

/** The error for a change that has run many times. */
export function tooManyChanges(): ServiceError {
  return new ServiceError('unavailable', 'Other servers change the frame all the time.', {
    hint: 'Retry in a moment. Send many small changes through one server: it joins them.',
  });
}
