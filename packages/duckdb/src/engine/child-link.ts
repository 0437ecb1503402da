import type { ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import type { ChildExitReason, RequestOrigin, StatementProgress } from '@svc/frames';
import type { ChildRequest } from '../wire/file-requests.ts';
import type { ChildInDirectory } from './child-directory.ts';
import { ChildCrash, ChildError } from './child-errors.ts';
import { type ChildEnd, createChildExit } from './child-exit.ts';
import { type ChildWatch, type ChildWatchOptions, createChildWatch, cpuTimeOf } from './child-watch.ts';
import type { ArrivedBatch, BatchFile } from '../wire/batch-file.ts';
import type { BatchPayload } from '../types/batch-codec.ts';
import {
  createMessageParser,
  MESSAGE,
  messageHead,
  jsonPayload,
  type OnMessage,
  parseJson,
  wordsPayload,
} from '../wire/messages.ts';
import type { ChildSpan, Traceable } from '../wire/request-trace.ts';
import type { SqlRequest } from '../wire/sql-requests.ts';

/** A request to a child of either kind. */
export type LinkRequest = (ChildRequest | SqlRequest) & Traceable;

/** Callbacks for the messages that a child sends in response to a request. */
export interface ResponseHandlers {
  /** The client's request that causes this one, if there is one. */
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
  /** Whether it responds; after its exit, the last known state. */
  readonly watch: Pick<ChildWatch, 'hasAnswered' | 'isResponding'>;
  /** Whether any request is in flight. */
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

/** Starts a child. */
export function createChildLink(launch: () => ChildInDirectory, { pingMs }: LinkOptions = {}): ChildLink {
  const { process: child, socket, batchFile, removed } = launch();
  const inFlight = new Map<number, ResponseHandlers>();
  let lastId = 0;
  // A child that could not be started has no pid.
  let isAlive = child.pid !== undefined;
  let isClosing = false;
  /** Set when it ends with its last request; the error of requests that begin nevertheless. */
  let retired: { readonly error: ChildCrash | undefined } | undefined;
  const exit = createChildExit();
  const send = createSender(socket);
  const onLate = { onSilent: () => retire('hung', hung()), onHung: () => kill('hung', hung()) };
  const watch = createChildWatch({ ...watching(child, send), pingMs, ...onLate });
  const updateRef = (): void => keepProcess(child, socket, { isBusy: inFlight.size > 0, isClosing });

  function finish(id: number): ResponseHandlers | undefined {
    const handlers = inFlight.get(id);
    inFlight.delete(id);
    updateRef();
    if (retired !== undefined && inFlight.size === 0) kill(undefined, retired.error);
    return handlers;
  }

  function onGone(reason: string, lastWords: string, signal: NodeJS.Signals | null): void {
    isAlive = false;
    release(watch, socket, batchFile);
    const crash = exit.over(reason, lastWords, signal, [...inFlight.values()]);
    for (const id of inFlight.keys()) finish(id)?.fail(crash);
  }

  function kill(reason?: ChildExitReason, error?: ChildCrash): void {
    isAlive = false;
    exit.plan(reason, error);
    child.kill('SIGKILL');
  }

  function retire(reason: ChildExitReason, error?: ChildCrash): void {
    isAlive = false;
    retired ??= { error };
    exit.plan(reason);
    if (inFlight.size === 0) kill(undefined, retired.error);
  }

  /** Kills a child that ignores a cancel; if it has other requests, when the last of them is done. */
  function replace(id: number): void {
    if (inFlight.size === 1) return kill('killed');
    retire('killed');
    finish(id)?.fail(new ChildError({ code: 'cancelled', message: 'Cancelled.' }));
  }

  onEnd(child, socket, { onGone, kill: () => kill() });
  receive(socket, watch, createReceiver({ inFlight, finish, batchFile, send }));
  updateRef();

  return {
    pid: child.pid,
    get isAlive() {
      return isAlive;
    },
    exited: exit.exited,
    watch,
    isBusy: () => inFlight.size > 0,
    begin(request, handlers) {
      const id = ++lastId;
      inFlight.set(id, handlers);
      updateRef();
      if (exit.crash === undefined) send(MESSAGE.request, id, [jsonPayload(request)]);
      else finish(id)?.fail(exit.crash);
      return createRequestControl(send, id, { isRunning: () => inFlight.has(id), replace: () => replace(id) });
    },
    retire,
    async close(reason = 'stopped') {
      isAlive = false;
      isClosing = true;
      exit.plan(reason);
      updateRef();
      await endOrKill(socket, removed, () => kill());
    },
  };
}

function release(watch: ChildWatch, socket: Socket, batchFile: BatchFile | undefined): void {
  watch.stop();
  socket.destroy();
  batchFile?.close();
}

function hung(): ChildCrash {
  return new ChildCrash('it did not answer', '', { hasHung: true });
}

function watching({ pid }: ChildProcess, send: Send): Pick<ChildWatchOptions, 'ping' | 'cpuTime'> {
  return {
    ping: () => send(MESSAGE.ping, 0),
    cpuTime: () => (pid === undefined ? undefined : cpuTimeOf(pid)),
  };
}

/** Asks a child to exit, and kills it if that takes too long. */
async function endOrKill(socket: Socket, ended: Promise<void>, kill: () => void): Promise<void> {
  socket.end();
  const timer = setTimeout(kill, EXIT_MS);
  await ended;
  clearTimeout(timer);
}

interface Receiving {
  readonly inFlight: ReadonlyMap<number, ResponseHandlers>;
  /** Removes and returns the handlers of a request that is done. */
  readonly finish: (id: number) => ResponseHandlers | undefined;
  readonly batchFile: BatchFile | undefined;
  readonly send: Send;
}

/** Dispatches the messages of a child to the handlers of their requests. */
function createReceiver({ inFlight, finish, batchFile, send }: Receiving): OnMessage {
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

/** Parses the bytes that arrive. Any byte is a sign of life. */
function receive(socket: Socket, watch: ChildWatch, onMessage: OnMessage): void {
  socket.on('data', () => watch.alive());
  socket.on('data', createMessageParser(onMessage));
}

/** What to do at the end of a process. */
interface EndHandlers {
  /** Called when it has exited or could not be started, with the end of its stderr and the signal that ended it. */
  readonly onGone: (reason: string, lastWords: string, signal: NodeJS.Signals | null) => void;
  /** Called when its pipe is broken. Its exit reports the reason. */
  readonly kill: () => void;
}

function onEnd(child: ChildProcess, socket: Socket, { onGone, kill }: EndHandlers): void {
  let lastWords = '';
  child.stderr?.on('data', (chunk: Buffer) => (lastWords = (lastWords + chunk.toString()).slice(-MAX_LAST_WORDS)));
  child.on('error', (error) => onGone(error.message, lastWords, null));
  child.on('close', (code, signal) => onGone(`exit code ${code}, signal ${signal}`, lastWords, signal));
  for (const event of ['error', 'close']) socket.on(event, kill);
}

/** An idle child must not keep this process alive. A busy one must, and so must one that is closing. */
function keepProcess(
  child: ChildProcess,
  socket: Socket,
  { isBusy, isClosing }: { readonly isBusy: boolean; readonly isClosing: boolean },
): void {
  const method = isBusy || isClosing ? 'ref' : 'unref';
  child[method]();
  socket[method]();
  if (child.stderr instanceof Socket) child.stderr[isClosing ? 'ref' : 'unref']();
}

type Send = (kind: number, id: number, parts?: readonly Uint8Array[], length?: number) => void;

function createSender(socket: Socket): Send {
  return (kind, id, parts = [], length = parts.reduce((sum, part) => sum + part.length, 0)) => {
    // Requests on a dead child fail when its exit is reported.
    if (!socket.writable) return;
    socket.cork();
    socket.write(messageHead(kind, id, length));
    for (const part of parts) socket.write(part);
    socket.uncork();
  };
}

interface Cancelling {
  readonly isRunning: () => boolean;
  /** Replaces the child, which did not obey. */
  readonly replace: () => void;
}

function createRequestControl(send: Send, id: number, { isRunning, replace }: Cancelling): RequestControl {
  return {
    sendBatch: ({ parts, length }) => send(MESSAGE.batch, id, parts, length),
    sendEnd: () => send(MESSAGE.end, id),
    sendCredit: (count) => send(MESSAGE.credit, id, [wordsPayload(count)]),
    cancel() {
      if (!isRunning()) return;
      send(MESSAGE.cancel, id);
      setTimeout(() => isRunning() && replace(), OBEY_MS).unref();
    },
  };
}
