import { createMemoryObjects, type Objects, readObject } from '@svc/objects';
import {
  checkHistory,
  createVirtualClock,
  type HistoryModel,
  type Operation,
  randomOf,
  type VirtualClock,
  withFaults,
} from '@svc/objects/testing';
import type { createFrameLog, EntryCodec, FrameLog, SeenEntry } from '../store/log/frame-log.ts';

/** The parts of a frame, with commas between. */
type Parts = string;
type Change = 'append' | 'put' | 'drop';

interface Input {
  readonly kind: Change | 'read';
  readonly part: string;
}

/** A world to simulate. */
export interface LogWorld {
  readonly seed: number;
  /** The share of calls with a fault. */
  readonly rate: number;
  /** The newest entries that a trim leaves. */
  readonly keep: number;
  /** How coarse the times in tags are; the processes are slower, too. Default: every object has another tag. */
  readonly tagMs?: number;
  readonly createLog: typeof createFrameLog;
  /** Default: memory, and a virtual clock. */
  readonly real?: { readonly home: Objects; readonly clock: VirtualClock };
}

/** World `seed`: few or many faults, old entries that go early, and in every fourth the tags of a bucket. */
export function worldOf(seed: number, createLog: LogWorld['createLog']): LogWorld {
  const world = { seed, rate: seed % 2 ? 0.25 : 0.05, keep: [1, 2, 5][seed % 3] ?? 1, createLog };
  return seed % 4 < 3 ? world : { ...world, tagMs: 1000 };
}

const PROCESSES = 3;
const LANES = 2;
const CALLS = 12;

/** So often a process opens its log anew, at the newest entry that it has seen. */
const REOPEN_RATE = 0.2;

/** The share of calls that come up to minutes late: the process was stopped. */
const STOP_RATE = 0.03;
const STOP_MS = 120_000;

export const JSON_CODEC: EntryCodec<Parts> = {
  encode: (entry) => Buffer.from(JSON.stringify(entry)),
  decode: (bytes) => JSON.parse(Buffer.from(bytes).toString()),
};

/** A home whose tags are those of a bucket: of the bytes, and of a time that is cut to `tagMs`. */
export function withCoarseTags(home: Objects, tagMs: number): Objects {
  async function tagOf(key: string): Promise<string> {
    // At one moment: memory answers at once.
    const [found, stat] = await Promise.all([readObject(home, key, Infinity), home.stat(key)]);
    return `${Buffer.from(found?.bytes ?? []).toString()} ${Math.floor(Number(stat?.modified) / tagMs)}`;
  }

  return {
    ...home,
    async get(key, options) {
      const [body, tag] = await Promise.all([home.get(key, options), tagOf(key)]);
      return body && { ...body, tag };
    },
    async stat(key, signal) {
      const [stat, tag] = await Promise.all([home.stat(key, signal), tagOf(key)]);
      return stat && { ...stat, tag };
    },
  };
}

/** Runs processes that change and read a frame through a bad network. In memory, the history depends on the seed alone. */
async function simulateLog(world: LogWorld): Promise<Operation<Input, Parts>[]> {
  const { seed, rate, keep, tagMs = 0, createLog, real } = world;
  const clock = real?.clock ?? createVirtualClock();
  const random = randomOf(seed);
  const memory = createMemoryObjects(clock.now);
  const home = real?.home ?? (tagMs > 0 ? withCoarseTags(memory, tagMs) : memory);
  const paceMs = 2 * tagMs;
  const history: Operation<Input, Parts>[] = [];
  let ids = 0;
  const id = (): string => String((ids += 1));

  const openLog = (objects: Objects, seen?: SeenEntry): FrameLog<Parts> =>
    createLog({
      objects,
      seen,
      prefix: 'default/trades/_delta_log/',
      codec: JSON_CODEC,
      minAgeMs: tagMs,
      deadlineMs: random() < 0.5 ? 200 : 10_000,
      clock,
      random: { id, number: random },
    });

  /** With few faults, so that entries go early; slow, so that others act while it removes them. */
  const trimmer = openLog(withFaults(home, { clock, random, rate: 0.05, delayMs: 30 }));

  async function runLane(process: Process): Promise<void> {
    for (let call = 0; call < CALLS; call++) {
      if (random() < REOPEN_RATE) process.log = openLog(process.objects, process.seen);
      const { log } = process;
      const x = random();
      if (x < 0.25) await (random() < 0.5 ? trimmer : log).trim(keep).catch(() => {});
      const kind = x < 0.5 ? 'append' : x < 0.6 ? 'put' : x < 0.65 ? 'drop' : 'read';
      const input = { kind, part: id() } as const;
      const start = clock.now();
      const outcome = await outcomeOf(process, input);
      if (outcome !== 'nothing') history.push({ input, ...outcome, start, end: clock.now() });
      await clock.sleep(random() * (20 + paceMs));
    }
  }

  const lanes = Array.from({ length: PROCESSES }, () => {
    const faulty = withFaults(home, { clock, random, rate, lateMs: 300 + paceMs });
    const objects = real ? faulty : withFaults(faulty, { clock, random, rate: STOP_RATE, lateMs: STOP_MS });
    const process = { objects, log: openLog(objects), seen: undefined };
    return Array.from({ length: LANES }, () => runLane(process));
  });
  await clock.run(Promise.all(lanes.flat()));
  return history;
}

/** A process, and the newest entry of the log that it has seen. */
interface Process {
  readonly objects: Objects;
  log: FrameLog<Parts>;
  seen: SeenEntry | undefined;
}

/** Calls a log. `nothing`: the call failed and has no effect. */
async function outcomeOf(process: Process, input: Input): Promise<{ output?: Parts } | 'nothing'> {
  const { kind, part } = input;
  try {
    const entry = await (kind === 'read'
      ? process.log.newest()
      : process.log.change(async (now) => changed(now ?? '', kind, part)));
    process.seen = entry;
    return { output: entry?.state ?? '' };
  } catch (error) {
    return error instanceof Error && error.name === 'OutcomeUnknown' && kind !== 'read' ? {} : 'nothing';
  }
}

function changed(parts: Parts, kind: Change, part: string): Parts {
  if (kind === 'drop') return '';
  return kind === 'put' || parts === '' ? part : `${parts},${part}`;
}

const MODEL: HistoryModel<Parts, Input, Parts> = {
  initial: '',
  step(parts, { kind, part }, output) {
    const next = kind === 'read' ? parts : changed(parts, kind, part);
    return output === undefined || output === next ? next : undefined;
  },
  keyOf: (parts) => parts,
};

/** True if the history of a world could be that of one process without faults. */
export async function isLinearizable(world: LogWorld): Promise<boolean> {
  return checkHistory(MODEL, await simulateLog(world));
}
