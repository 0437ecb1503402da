import { readFileSync } from 'node:fs';

/** Watches whether a child still answers. */
export interface ChildWatch {
  /** The child has sent something. */
  alive(): void;
  /** Whether the child has ever sent something. */
  readonly hasAnswered: boolean;
  /** False while the child is silent for longer than a busy machine explains. */
  readonly isResponding: boolean;
  stop(): void;
}

/** What a watch needs. */
export interface ChildWatchOptions {
  /** Asks the child for an answer. */
  readonly ping: () => void;
  /** The child is silent for so long that new requests should go to another one. */
  readonly onSilent: () => void;
  /** The child will not answer any more. */
  readonly onHung: () => void;
  /** How much CPU time the child has used, in any unit; undefined if the system does not tell. */
  readonly cpuTime: () => number | undefined;
  /** How often the child is asked. Default 1000; all limits follow from it. */
  readonly pingMs?: number | undefined;
}

const PING_MS = 1000;

// Limits in pings, which are seconds. DuckDB works in threads of its own, so the event loop of a healthy child answers
// within milliseconds; encoding and garbage collection block it for some hundred, and a machine with far more work than
// cores for perhaps a second or two. Pings are counted instead of time: if this process, or the whole machine, was
// suspended, no pings were missed.
/** From then on `isResponding` is false. */
const REPORTED = 3;
/** From then on new requests go to another child. */
const SILENT = 5;
/** A child that neither answers nor uses the CPU for so long has hung. */
const HUNG = 10;
/** One that uses the CPU may be in a long synchronous step, or have to share its core with many others. */
const BUSY_HUNG = 60;
/** A child that has never answered may still be starting: that reads many files from a disk which may be slow. */
const STARTING = 30;

/** Begins to watch a child. Does not keep the process alive. */
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
    // Once: it lasts.
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

/** The CPU time of a process, of all its threads, in ticks of the system; undefined if the system does not tell, or the process waits for its disk. */
export function cpuTimeOf(pid: number): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program stands in brackets and may hold anything; user and system time are fields 12 and 13 after it.
    const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
    // A process that waits for the disk is busy: checksums are read synchronously.
    if (fields[0] === 'D') return undefined;
    return Number(fields[11]) + Number(fields[12]);
  } catch {
    return undefined;
  }
}
