import { randomBytes } from 'node:crypto';
import { readdir, readFile, readlink, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execFile } from 'node:child_process';
import { hostname } from 'node:os';
import { hasCode, readSmallFile, unlinkIfThere, writeWhole } from '@svc/objects/internal';

/** The process with the lock of a directory. */
export interface LockHolder extends ProcessIdentity {
  readonly since: string;
}

/** An exclusive lock on a directory. */
export interface DirectoryLock {
  /** Fails if another process has taken over the directory, because this one was suspended for too long. */
  check(): Promise<void>;
  /** Why the last heartbeat failed, if it did: the holder touches its lock file every second. */
  readonly failure: unknown;
  release(): Promise<void>;
}

/** Another process holds the directory. */
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

/** The timing of heartbeats. */
export interface LockTimes {
  /** The interval between heartbeats of a holder. Default 1000. */
  readonly beatMs?: number;
  /** An unprobeable holder counts as dead after this long without a heartbeat. Default 6000. */
  readonly silenceMs?: number;
}

const PREFIX = '.lock-';
const UNFINISHED_PREFIX = '.new';
/** Marks the lock file of the holder: others give up instead of retrying. */
const HELD_SUFFIX = '.held';
const ATTEMPTS = 20;

/**
 * Locks a directory, or fails with `DirectoryInUseError`.
 *
 * Each contender writes a lock file under a unique name, never reused, and *then* lists the others. If it finds
 * a live one, it removes its own file and retries or gives up; if it finds none, it holds the directory. Two processes
 * can never both hold it: one of two files was there first, and the writer of the second lists the directory after
 * that. Any process may remove the file of a dead one. Because a name belongs to one process forever, this never removes
 * the file of a newer holder, which is the classic race when taking over a single lock file. Two contenders that start
 * together may both back off; random delays break the tie.
 *
 * A process is alive if the system lists its id with the same start time. If the system cannot tell (another machine,
 * or a container with another PID namespace), the heartbeat decides: the holder touches its file every second.
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

/** An unprobeable process is gone after this long without a heartbeat. Without a lock, the age counts. */
const GONE_MS = 60_000;

/** True if every holder of and contender for a directory is gone. Does not wait, and changes nothing. */
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
  /** True if it holds the directory, rather than being a contender. */
  readonly hasWon: boolean;
}

/** Finds a live holder or contender other than the owner of the lock file `own`. */
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

/** Removes lock files whose writers died before renaming them. A recent one may still be renamed. */
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
  // If the file cannot be parsed, the heartbeat decides.
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

/** True if the holder sends heartbeats. Uses only the local clock: that of another machine may be wrong. */
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

/** Identifies a process, for others to check if it still runs. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly host: string;
  /** The start time as the system reports it. It tells apart processes with a reused id. */
  readonly started: string;
  /** The scope of the id: this boot of this machine, and its PID namespace. */
  readonly scope: string;
}

/** Returns the identity of this process. */
export async function identifyProcess(): Promise<ProcessIdentity> {
  const scope = [await readBootId(), await readlink('/proc/self/ns/pid').catch(() => '')].join(' ').trim();
  const host = hostname();
  // Without a boot id, the host name has to do.
  return {
    pid: process.pid,
    host,
    started: (await startOfProcess(process.pid)) ?? '',
    scope: scope === '' ? host : scope,
  };
}

/** True if a process runs; undefined if this process cannot tell. */
async function isRunning(other: ProcessIdentity, self: ProcessIdentity): Promise<boolean | undefined> {
  if (other.scope !== self.scope) return undefined;
  if (!hasProcess(other.pid)) return false;
  const started = await startOfProcess(other.pid);
  // The start time is unreadable if the process has just ended or belongs to another user.
  return started === undefined || other.started === '' ? hasProcess(other.pid) : started === other.started;
}

function hasProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // Signalling a process of another user is not permitted, but it exists.
    return !hasCode(error, 'ESRCH');
  }
}

async function readBootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')).trim();
}

async function startOfProcess(pid: number): Promise<string | undefined> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (status !== undefined) {
    // The program name is in parentheses and can contain anything; the start time is the 20th field after it. A zombie
    // is still listed, with the state Z.
    const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? '' : (fields[19] ?? '');
  }
  if (process.platform === 'linux' || process.platform === 'win32') return undefined;
  return new Promise((resolve) => {
    execFile('ps', ['-o', 'lstart=', '-p', String(pid)], (error, output) => {
      resolve(error === null ? output.trim() : undefined);
    });
  });
}
