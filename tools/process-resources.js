// The resource usage of other processes. Linux only.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

/** CPU time a process has used so far, in milliseconds (ticks of 10 ms). */
export function cpuMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1000;
}

/** CPU time a process and its child processes have used so far, in milliseconds. */
export function familyCpuMs(pid) {
  const parents = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [[Number(name), parentOf(name)]] : []));
  const children = parents.filter(([, parent]) => parent === pid);
  return children.reduce((sum, [child]) => sum + familyCpuMs(child), cpuMs(pid));
}

function parentOf(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ')[1]);
  } catch {
    // Ended in the meantime.
    return 0;
  }
}

/** Resident memory of a process, in bytes. */
export function residentBytes(pid) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;
}

/** The number of open sockets of a process, including listeners. */
export function socketCount(pid) {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((descriptor) => isSocket(`${folder}/${descriptor}`)).length;
}

function isSocket(path) {
  try {
    return readlinkSync(path).startsWith('socket:');
  } catch {
    // Closed in the meantime.
    return false;
  }
}

/** Binds all threads of a process to a core. */
export function pin(pid, core) {
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', core, String(pid)]);
}
