import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import type { ChildExitReason, RequestOrigin, StatementProgress } from '@svc/frames';
import type { BatchPayload } from '../types/batch-codec.ts';
import type { ArrivedBatch, BatchFile } from '../wire/batch.ts';
import type { ChildRequest, SqlRequest } from '../wire/requests.ts';
import {
  type ChildSpan,
  createMessageParser,
  jsonPayload,
  MESSAGE,
  type OnMessage,
  parseJson,
  sendMessage,
  type Traceable,
  wordsPayload,
} from '../wire/messages.ts';
import { ChildCrash, type ChildEnd, ChildError, createOomKills, type OomKills } from './child-errors.ts';
import { type ChildInDirectory, type ChildOptions, launchChild, launchInDirectoryIfPossible } from './child-process.ts';

/** The name prefix of these children's directories. */
export const SPILL_PREFIX = 'svc-spill-';

/**
 * Starts an engine child for `createFrameFiles` early, before the modules that use it are loaded. It exits with this
 * process.
 */
export function startChild(options: ChildOptions & LinkOptions): ChildLink {
  const { tempDirectory } = options;
  return createChildLink(
    () => launchInDirectoryIfPossible(tempDirectory, SPILL_PREFIX, (directory) => launchChild(options, directory)),
    options,
  );
}

/** A request to a child of either kind. */
export type LinkRequest = (ChildRequest | SqlRequest) & Traceable;

/** Callbacks for a child's messages in response to a request. */
export interface ResponseHandlers {
  /** The client's request behind this one, if there is one. */
  readonly origin?: RequestOrigin | undefined;
  batch(batch: ArrivedBatch): void;
  credit(count: number): void;
  progress(progress: StatementProgress): void;
  spans(spans: readonly ChildSpan[]): void;
  /** The response, as JSON. */
  end(response: ArrayBuffer): void;
  fail(error: Error): void;
}

/** The parent's side of a request in flight. */
export interface RequestControl {
  sendBatch(batch: BatchPayload): void;
  sendEnd(): void;
  sendCredit(count: number): void;
  /** Asks the child to stop. If the child does not fail the request soon, it is killed. */
  cancel(): void;
}

/** A running child. */
export interface ChildLink {
  readonly pid: number | undefined;
  /** False once it has exited or is about to. */
  readonly isAlive: boolean;
  /** Resolves when it has exited, or could not be started. */
  readonly exited: Promise<ChildEnd>;
  /** If it responds; after its exit, the last known state. */
  readonly watch: Pick<ChildWatch, 'hasAnswered' | 'isResponding'>;
  /** True while a request is in flight. */
  isBusy(): boolean;
  begin(request: LinkRequest, handlers: ResponseHandlers): RequestControl;
  /** Ends it when its last request is done. Begin no request after this. */
  retire(reason: ChildExitReason): void;
  /** Asks it to exit, and kills it if it does not. Resolves when its directory is removed. Default reason: `stopped`. */
  close(reason?: ChildExitReason): Promise<void>;
}

/** How long a child may take to obey a cancel. */
const OBEY_MS = 1000;
/** How long a child may take to exit: it does so at once unless it hangs. Engines are closed one after the other. */
const EXIT_MS = 500;
/** How many characters of a child's stderr are kept for a crash report. */
const MAX_LAST_WORDS = 4096;

/** Options of a link. */
export interface LinkOptions {
  /** The interval between pings. Default 1000. */
  readonly pingMs?: number | undefined;
}

/** How many of the system's out-of-memory kills are explained: it counts those of all children together. */
let oomKills: OomKills | undefined;

/** Starts a child. */
export function createChildLink(launch: () => ChildInDirectory, { pingMs }: LinkOptions = {}): ChildLink {
  const { process: child, socket, batchFile, removed } = launch();
  const { pid } = child;
  const kills = (oomKills ??= createOomKills());
  const inFlight = new Map<number, ResponseHandlers>();
  let lastId = 0;
  let lastWords = '';
  // Without a pid, it could not be started.
  let isAlive = pid !== undefined;
  let isClosing = false;
  /** Why it is about to end; the first reason counts. Without one, it crashes. */
  let planned: ChildExitReason | undefined;
  /** The error of requests, once it is gone or must go. */
  let crash: ChildCrash | undefined;
  /** Set when it ends with its last request. Requests begun after this fail with the error. */
  let retired: { readonly error: ChildCrash | undefined } | undefined;
  let settle = (_end: ChildEnd): void => undefined;
  const exited = new Promise<ChildEnd>((resolve) => (settle = resolve));
  const watch = createChildWatch({
    ping: () => send(MESSAGE.ping, 0),
    cpuTime: () => (pid === undefined ? undefined : cpuTimeOf(pid)),
    onSilent: () => retire('hung', hung()),
    onHung: () => kill('hung', hung()),
    pingMs,
  });

  function send(kind: number, id: number, parts?: readonly Uint8Array[], length?: number): void {
    // Requests on a dead child fail when its exit is reported.
    if (socket.writable) sendMessage(socket, kind, id, parts, length);
  }

  /** An idle child must not keep this process alive. A busy or closing one must. */
  function updateRef(): void {
    const method = inFlight.size > 0 || isClosing ? 'ref' : 'unref';
    child[method]();
    socket[method]();
    if (child.stderr instanceof Socket) child.stderr[isClosing ? 'ref' : 'unref']();
  }

  /** Removes and returns the handlers of a finished request. */
  function finish(id: number): ResponseHandlers | undefined {
    const handlers = inFlight.get(id);
    inFlight.delete(id);
    updateRef();
    if (retired !== undefined && inFlight.size === 0) kill(undefined, retired.error);
    return handlers;
  }

  /** It has exited, or could not be started. */
  function onGone(reason: string, signal: NodeJS.Signals | null): void {
    isAlive = false;
    watch.stop();
    socket.destroy();
    batchFile?.close();
    crash ??= new ChildCrash(reason, lastWords, { isOomKill: signal === 'SIGKILL' && kills.claim() });
    settle({
      reason: planned ?? (crash.isOutOfMemory ? 'out_of_memory' : 'crashed'),
      requests: originsOf([...inFlight.values()]),
    });
    for (const id of inFlight.keys()) finish(id)?.fail(crash);
  }

  function kill(reason?: ChildExitReason, error?: ChildCrash): void {
    isAlive = false;
    planned ??= reason;
    crash ??= error;
    child.kill('SIGKILL');
  }

  function retire(reason: ChildExitReason, error?: ChildCrash): void {
    isAlive = false;
    retired ??= { error };
    planned ??= reason;
    if (inFlight.size === 0) kill(undefined, retired.error);
  }

  /** Kills a child after an ignored cancel; if it has other requests, when the last of them is done. */
  function replace(id: number): void {
    if (inFlight.size === 1) return kill('killed');
    retire('killed');
    finish(id)?.fail(new ChildError({ code: 'cancelled', message: 'Cancelled.' }));
  }

  child.stderr?.on('data', (chunk: Buffer) => (lastWords = (lastWords + chunk.toString()).slice(-MAX_LAST_WORDS)));
  child.on('error', (error) => onGone(error.message, null));
  child.on('close', (code, signal) => onGone(`exit code ${code}, signal ${signal}`, signal));
  // The exit reports the reason.
  for (const event of ['error', 'close']) socket.on(event, () => kill());
  // Any byte is a sign of life.
  socket.on('data', () => watch.alive());
  socket.on('data', createMessageParser(createReceiver(inFlight, finish, batchFile, send)));
  updateRef();
  return {
    pid,
    get isAlive() {
      return isAlive;
    },
    exited,
    watch,
    isBusy: () => inFlight.size > 0,
    begin(request, handlers) {
      const id = ++lastId;
      inFlight.set(id, handlers);
      updateRef();
      if (crash === undefined) send(MESSAGE.request, id, [jsonPayload(request)]);
      else finish(id)?.fail(crash);
      return {
        sendBatch: ({ parts, length }) => send(MESSAGE.batch, id, parts, length),
        sendEnd: () => send(MESSAGE.end, id),
        sendCredit: (count) => send(MESSAGE.credit, id, [wordsPayload(count)]),
        cancel() {
          if (!inFlight.has(id)) return;
          send(MESSAGE.cancel, id);
          setTimeout(() => inFlight.has(id) && replace(id), OBEY_MS).unref();
        },
      };
    },
    retire,
    async close(reason = 'stopped') {
      isAlive = false;
      isClosing = true;
      planned ??= reason;
      updateRef();
      socket.end();
      const timer = setTimeout(() => kill(), EXIT_MS);
      await removed;
      clearTimeout(timer);
    },
  };
}

type Send = (kind: number, id: number, parts?: readonly Uint8Array[]) => void;

/** Dispatches the messages of a child to the handlers of their requests; `finish` removes those of a finished one. */
function createReceiver(
  inFlight: ReadonlyMap<number, ResponseHandlers>,
  finish: (id: number) => ResponseHandlers | undefined,
  batchFile: BatchFile | undefined,
  send: Send,
): OnMessage {
  function onPlaced(id: number, payload: ArrayBuffer): void {
    const [place = 0, length = 0] = new Uint32Array(payload);
    const batch = batchFile?.arrived(place, length, () => send(MESSAGE.free, id, [wordsPayload(place)]));
    const handlers = inFlight.get(id);
    if (batch === undefined || handlers === undefined) batch?.drop();
    else handlers.batch(batch);
  }

  return (kind, id, payload) => {
    if (kind === MESSAGE.batch) inFlight.get(id)?.batch({ take: () => payload, drop: () => undefined });
    else if (kind === MESSAGE.placed) onPlaced(id, payload);
    else if (kind === MESSAGE.credit) inFlight.get(id)?.credit(new Uint32Array(payload)[0] ?? 0);
    else if (kind === MESSAGE.progress) inFlight.get(id)?.progress(progressFrom(payload));
    else if (kind === MESSAGE.spans) inFlight.get(id)?.spans(parseJson(payload));
    else if (kind === MESSAGE.end) finish(id)?.end(payload);
    else if (kind === MESSAGE.error) finish(id)?.fail(new ChildError(parseJson(payload)));
  };
}

function progressFrom(payload: ArrayBuffer): StatementProgress {
  const [fraction = 0, rowsProcessed = 0, rowsTotal = 0] = new Float64Array(payload);
  return { fraction, rowsProcessed, rowsTotal };
}

function hung(): ChildCrash {
  return new ChildCrash('it did not answer', '', { hasHung: true });
}

/** The client requests among these, each once. */
function originsOf(requests: readonly ResponseHandlers[]): readonly RequestOrigin[] {
  const origins = requests.flatMap(({ origin }) => origin ?? []);
  return [...new Map(origins.map((origin) => [origin.requestId, origin])).values()];
}

/** A watchdog for a child. */
export interface ChildWatch {
  /** Records a sign of life of the child. */
  alive(): void;
  /** True once the child has sent something. */
  readonly hasAnswered: boolean;
  /** False while the child has been silent for longer than load on the machine can explain. */
  readonly isResponding: boolean;
  stop(): void;
}

interface ChildWatchOptions {
  /** Sends a ping to the child. */
  readonly ping: () => void;
  /** Called after a long silence: new requests should go to another child. */
  readonly onSilent: () => void;
  /** Called when the child has hung. */
  readonly onHung: () => void;
  /** The CPU time of the child, in any unit; undefined if the system does not report it. */
  readonly cpuTime: () => number | undefined;
  /** The interval between pings. Default 1000; all limits are multiples of it. */
  readonly pingMs?: number | undefined;
}

const PING_MS = 1000;

// Limits in missed pings: seconds by default. DuckDB runs in separate threads, so the event loop of a healthy child answers
// within milliseconds. Encoding and garbage collection block it for a few hundred, an overloaded machine for perhaps a
// second or two. Pings are counted instead of time: if this process or the whole machine was suspended, none was missed.
/** When `isResponding` becomes false. */
const REPORTED = 3;
/** When new requests go to another child. */
const SILENT = 5;
/** When a child has hung if it neither answers nor uses the CPU. */
const HUNG = 10;
/** The same if it uses the CPU: it may be in a long synchronous step or share its core with many others. */
const BUSY_HUNG = 60;
/** Added if the child has never answered: it may still be starting, and reads many files from a possibly slow disk. */
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
    // A process waiting for the disk is busy: it reads checksums synchronously.
    if (fields[0] === 'D') return undefined;
    return Number(fields[11]) + Number(fields[12]);
  } catch {
    return undefined;
  }
}
