import { execFile } from 'node:child_process';
import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { hasCode } from './durable-files.ts';

/** Identifies a process, so that others can check whether it still runs. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly host: string;
  /** The start time as the system reports it. It tells apart processes that reuse an id. */
  readonly started: string;
  /** The scope in which the id is valid: this boot of this machine, and its PID namespace. */
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

/** Whether a process runs; undefined if this process cannot tell. */
export async function isRunning(other: ProcessIdentity, self: ProcessIdentity): Promise<boolean | undefined> {
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
