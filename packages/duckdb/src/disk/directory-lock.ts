import { randomBytes } from 'node:crypto';
import { readdir, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode, readSmallFile, unlinkIfThere, writeWhole } from './durable-files.ts';
import { identifyProcess, isRunning, type ProcessIdentity } from './process-identity.ts';

/** Who holds a directory. */
export interface LockHolder extends ProcessIdentity {
  readonly since: string;
}

/** A directory that nobody else writes to. */
export interface DirectoryLock {
  /** Fails where another has taken the directory over, as happens to a process that was stopped for long. */
  check(): Promise<void>;
  /** Why the directory could not be written to a moment ago, if so: the holder touches its file every second. */
  readonly failure: unknown;
  release(): Promise<void>;
}

/** The directory is held by another process. */
export class DirectoryInUseError extends Error {
  override readonly name = 'DirectoryInUseError';
  readonly holder: LockHolder;

  constructor(directory: string, holder: LockHolder) {
    super(
      `The directory ${directory} is in use by process ${holder.pid} on ${holder.host}, since ${holder.since}. ` +
        'Stop that process, or use another directory.',
    );
    this.holder = holder;
  }
}

/** The directory is no longer held: its lock file is gone. */
export class TakenOverError extends Error {
  override readonly name = 'TakenOverError';

  constructor(directory: string, cause: unknown) {
    super(`The directory ${directory} was taken over by another process.`, { cause });
  }
}

/** How long to wait for what. */
export interface LockTimes {
  /** A holder says so often that it is alive. Default 1000. */
  readonly beatMs?: number;
  /** A holder that cannot be asked and is silent for so long is dead. Default 6000. */
  readonly silenceMs?: number;
}

const PREFIX = '.lock-';
const UNFINISHED_PREFIX = '.new';
/** Stands beside the file of a process that has won, for others to know that trying again is of no use. */
const HELD_SUFFIX = '.held';
const ATTEMPTS = 20;

/**
 * Takes a directory, or fails with `DirectoryInUseError`.
 *
 * Each process that wants it writes a file of its own, with a name that is never used again, and *then* looks for files
 * of others. Whoever finds a living one removes its own and tries again or gives up; whoever finds none holds the
 * directory. Two can never both hold it: of two files one was there first, and the writer of the later one looks after
 * that. Files of dead processes are removed by anybody: as a name means one process for ever, that can never hit the
 * file of a newer holder, which is how taking over a single lock file goes wrong. Two that start at once may both step
 * back; they wait for random times, so that one of them is soon alone.
 *
 * Whether a process lives is asked of the system: its number and its start. Where that says nothing (another machine,
 * or a container with numbers of its own), the holder's file must change: it is touched every second.
 */
export async function lockDirectory(directory: string, times: LockTimes = {}): Promise<DirectoryLock> {
  const self = await identifyProcess();
  for (let attempt = 1; ; attempt += 1) {
    const holder: LockHolder = { ...self, since: new Date().toISOString() };
    const name = `${PREFIX}${randomBytes(12).toString('hex')}`;
    const path = join(directory, name);
    await writeWhole(directory, name, `${UNFINISHED_PREFIX}${name}`, JSON.stringify(holder));
    const other = await findOther(directory, name, self, times).catch(async (error: unknown) => {
      await removeLock(path);
      throw error;
    });
    if (other === undefined) {
      await sweepUnfinished(directory);
      return holdLock(directory, path, times);
    }
    await removeLock(path);
    if (other.hasWon || attempt === ATTEMPTS) throw new DirectoryInUseError(directory, other.holder);
    await sleep(20 + Math.random() * 20 * attempt);
  }
}

/** A process that cannot be asked and is silent for so long is gone. Without a lock a directory is as old as it looks. */
const GONE_MS = 60_000;

/** Whether whoever held or was about to hold a directory is gone. Says so at once, and leaves the directory as it is. */
export async function isAbandoned(directory: string): Promise<boolean> {
  const self = await identifyProcess();
  const names = (await readdir(directory)).filter((name) => name.startsWith(PREFIX) && !name.endsWith(HELD_SUFFIX));
  const isYoung = async (path: string): Promise<boolean> => ((await touchedAt(path)) ?? 0) > Date.now() - GONE_MS;
  for (const name of names) {
    const path = join(directory, name);
    const holder = await readHolder(path);
    if (holder !== undefined && ((await isRunning(holder, self)) ?? (await isYoung(path)))) return false;
  }
  return names.length > 0 || !(await isYoung(directory));
}

interface OtherProcess {
  readonly holder: LockHolder;
  /** Whether it holds the directory, and does not only want to. */
  readonly hasWon: boolean;
}

/** A living process other than the one with the lock file `own` that holds the directory or wants to. */
async function findOther(
  directory: string,
  own: string,
  self: ProcessIdentity,
  times: LockTimes,
): Promise<OtherProcess | undefined> {
  const names = (await readdir(directory)).filter((name) => name.startsWith(PREFIX) && name !== own);
  for (const name of names.filter((one) => !one.endsWith(HELD_SUFFIX))) {
    const path = join(directory, name);
    const holder = await readHolder(path);
    if (holder === undefined) continue;
    const isAlive = (await isRunning(holder, self)) ?? (await isTouched(path, times));
    if (isAlive) return { holder, hasWon: names.includes(`${name}${HELD_SUFFIX}`) };
    await removeLock(path);
  }
  return undefined;
}

/** Lock files whose writers ended before they had their name. Young ones may get it yet. */
async function sweepUnfinished(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    const isOurs = name.startsWith(`${UNFINISHED_PREFIX}${PREFIX}`);
    if (isOurs && ((await touchedAt(path)) ?? 0) < Date.now() - 60_000) await unlinkIfThere(path);
  }
}

async function removeLock(path: string): Promise<void> {
  await unlinkIfThere(`${path}${HELD_SUFFIX}`);
  await unlinkIfThere(path);
}

async function readHolder(path: string): Promise<LockHolder | undefined> {
  const text = await readSmallFile(path).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const fields = parseFields(text);
  const textOf = (key: string): string => {
    const value = fields.get(key);
    return typeof value === 'string' ? value : 'unknown';
  };
  // A file that says nothing is judged by whether it is touched.
  return {
    pid: Number(fields.get('pid') ?? 0),
    host: textOf('host'),
    started: textOf('started'),
    scope: textOf('scope'),
    since: textOf('since'),
  };
}

function parseFields(text: string): ReadonlyMap<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return new Map(typeof value === 'object' && value !== null ? Object.entries(value) : []);
  } catch {
    return new Map();
  }
}

/** Watches by the own clock alone: the clock of another machine may be wrong. */
async function isTouched(path: string, { silenceMs = 6000 }: LockTimes): Promise<boolean> {
  const first = await touchedAt(path);
  const end = performance.now() + silenceMs;
  while (performance.now() < end) {
    await sleep(silenceMs / 30);
    const now = await touchedAt(path);
    if (now !== first || now === undefined) return now !== undefined;
  }
  return false;
}

async function touchedAt(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.mtimeMs;
}

async function holdLock(directory: string, path: string, { beatMs = 1000 }: LockTimes): Promise<DirectoryLock> {
  await writeFile(`${path}${HELD_SUFFIX}`, '');
  let failure: unknown;
  const touch = async (): Promise<void> => {
    const now = new Date();
    try {
      await utimes(path, now, now);
      failure = undefined;
    } catch (error) {
      const isGone = hasCode(error, 'ENOENT');
      failure = isGone ? new TakenOverError(directory, error) : error;
      throw failure;
    }
  };
  const timer = setInterval(() => void touch().catch(() => {}), beatMs).unref();
  return {
    check: touch,
    get failure() {
      return failure;
    },
    async release() {
      clearInterval(timer);
      await removeLock(path);
    },
  };
}
