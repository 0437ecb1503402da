import { execFile } from 'node:child_process';
import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { hasCode } from './durable-files.ts';

/** Names a process for as long as others may ask whether it still runs. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly host: string;
  /** When the process started, as the system says it: a number that is used again has another start. */
  readonly started: string;
  /** Where the number means something: this run of this machine, and in it this space of process numbers. */
  readonly scope: string;
}

/** This process. */
export async function identifyProcess(): Promise<ProcessIdentity> {
  const scope = [await readBootId(), await readlink('/proc/self/ns/pid').catch(() => '')].join(' ').trim();
  const host = hostname();
  // Without a name for the run of the machine its host name must do.
  return {
    pid: process.pid,
    host,
    started: (await startOfProcess(process.pid)) ?? '',
    scope: scope === '' ? host : scope,
  };
}

/** Whether a process runs; undefined where that cannot be told from here. */
export async function isRunning(other: ProcessIdentity, self: ProcessIdentity): Promise<boolean | undefined> {
  if (other.scope !== self.scope) return undefined;
  if (!hasProcess(other.pid)) return false;
  const started = await startOfProcess(other.pid);
  // Not to be read: the process has just ended, or belongs to somebody else.
  return started === undefined || other.started === '' ? hasProcess(other.pid) : started === other.started;
}

function hasProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // A process of another user may not be asked, but it is there.
    return !hasCode(error, 'ESRCH');
  }
}

async function readBootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')).trim();
}

async function startOfProcess(pid: number): Promise<string | undefined> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (status !== undefined) {
    // The name of the program stands in brackets and may hold anything; the start is the 20th field after it. A process
    // that has ended and was not waited for is still listed, with the state Z.
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
