import { readFileSync } from 'node:fs';

/** A watchdog for a child. */
export interface ChildWatch {
  /** Records that the child has sent something. */
  alive(): void;
  /** Whether the child has ever sent something. */
  readonly hasAnswered: boolean;
  /** False while the child has been silent for longer than load on the machine can explain. */
  readonly isResponding: boolean;
  stop(): void;
}

/** Options of a watch. */
export interface ChildWatchOptions {
  /** Sends a ping to the child. */
  readonly ping: () => void;
  /** Called when the child has been silent for long enough that new requests should go to another one. */
  readonly onSilent: () => void;
  /** Called when the child has hung. */
  readonly onHung: () => void;
  /** The CPU time that the child has used, in any unit; undefined if the system does not report it. */
  readonly cpuTime: () => number | undefined;
  /** The interval between pings. Default 1000; all limits are multiples of it. */
  readonly pingMs?: number | undefined;
}

const PING_MS = 1000;

// Limits in missed pings, that is, seconds. DuckDB runs in separate threads, so the event loop of a healthy child answers
// within milliseconds. Encoding and garbage collection block it for a few hundred, an overloaded machine for perhaps a
// second or two. Pings are counted instead of time: if this process or the whole machine was suspended, none was missed.
/** When `isResponding` becomes false. */
const REPORTED = 3;
/** When new requests go to another child. */
const SILENT = 5;
/** When a child that neither answers nor uses the CPU has hung. */
const HUNG = 10;
/** The same for a child that uses the CPU: it may be in a long synchronous step or share its core with many others. */
const BUSY_HUNG = 60;
/** Added if the child has never answered: it may still be starting, which reads many files from a possibly slow disk. */
const STARTING = 30;

/** Starts to watch a child. Does not keep the process alive. */
export function createChildWatch(options: ChildWatchOptions): ChildWatch {
  const { ping, onSilent, onHung, cpuTime, pingMs = PING_MS } = options;
  let missed = 0;
  let missedWithoutCpu = 0;
  let lastCpu: number | undefined;
  let hasAnswered = false;

  function tick(): void {
    missed += 1;
    const extra = hasAnswered ? 0 : STARTING;
    if (missed > 1) noteCpu();
    // Only once: the child is retired for good.
    if (missed === SILENT + extra) onSilent();
    if (missedWithoutCpu < HUNG + extra && missed < BUSY_HUNG + extra) return ping();
    clearInterval(timer);
    onHung();
  }

  function noteCpu(): void {
    const cpu = cpuTime();
    const isIdle = cpu !== undefined && cpu === lastCpu;
    missedWithoutCpu = isIdle ? missedWithoutCpu + 1 : 0;
    lastCpu = cpu;
  }

  const timer = setInterval(tick, pingMs).unref();
  return {
    alive() {
      missed = 0;
      missedWithoutCpu = 0;
      lastCpu = undefined;
      hasAnswered = true;
    },
    get hasAnswered() {
      return hasAnswered;
    },
    get isResponding() {
      return missed < REPORTED + (hasAnswered ? 0 : STARTING);
    },
    stop: () => clearInterval(timer),
  };
}

/**
 * The CPU time of all threads of a process, in clock ticks; undefined if unknown or while the process waits for the
 * disk.
 */
export function cpuTimeOf(pid: number): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The program name is in parentheses and may contain anything; user and system time are fields 12 and 13 after it.
    const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
    // A process that waits for the disk is busy: it reads checksums synchronously.
    if (fields[0] === 'D') return undefined;
    return Number(fields[11]) + Number(fields[12]);
  } catch {
    return undefined;
  }
}
