import { writeSync } from 'node:fs';
import { type ConnectOpts, Socket, type SocketConstructorOpts } from 'node:net';
import { type BatchWriter, createBatchPlaces } from '../wire/batch.ts';
import {
  BATCH_BYTES,
  BATCH_CREDITS,
  createMessageParser,
  doublesPayload,
  jsonPayload,
  MESSAGE,
  monotonicMs,
  parseJson,
  sendMessage,
  type Traceable,
  wordsPayload,
} from '../wire/messages.ts';
import { type ActiveRequest, CancelledError, createRequestSpans, type RequestSpans } from './active-request.ts';
import { DamagedFileError, IntactFileError } from './files/checksums.ts';
import { createSqlHandler } from './sql/sql-handler.ts';
import { SqlError } from './sql/sql-refusal.ts';
import { createFileHandler } from './files/file-handler.ts';
import { firstDatabase } from './open-database.ts';
import { UnstorableValue } from './columns/fixed-writers.ts';
import type { ChildFailure, ChildSettings } from '../wire/requests.ts';

// Requests arrive on the socket at file descriptor 3.
const STDERR = 2;
const PIPE = 3;
const BATCH_FILE = 4;
/** More than the kernel of Linux buffers. */
const READ_BYTES = 256 * 1024;
const RSS_CHECK_MS = 50;
const LARGE_BATCH_BYTES = 4 * BATCH_BYTES;

const settings: ChildSettings = parseJson(process.argv[2] ?? '{}');
const parse = createMessageParser(onMessage);
const reading: SocketConstructorOpts & ConnectOpts = {
  fd: PIPE,
  readable: true,
  writable: true,
  // One buffer for all reads: by default each read has a new one, and collecting those costs more than parsing them.
  onread: {
    buffer: Buffer.allocUnsafeSlow(READ_BYTES),
    callback(length, bytes) {
      parse(bytes.subarray(0, length));
      return true;
    },
  },
};
const socket = new Socket(reading);
const activeRequests = new Map<number, ControlledRequest>();
const places = settings.hasBatchFile === true ? createBatchPlaces(BATCH_FILE) : undefined;
const run =
  settings.isLocked === true
    ? runner(createSqlHandler(settings.settings, firstDatabase()))
    : runner(createFileHandler(settings, firstDatabase()));

/** The parent is gone, or this process is broken: exit now. */
function end(): void {
  process.kill(process.pid, 'SIGKILL');
}

/** Serves requests until the parent is gone. */
export function serve(): void {
  for (const event of ['end', 'close', 'error']) socket.on(event, end);
  // A regular exit would wait for DuckDB, and DuckDB may wait for this very thread.
  for (const event of ['uncaughtException', 'unhandledRejection']) {
    process.on(event, (error: unknown) => {
      writeSync(STDERR, `${error instanceof Error ? error.stack : String(error)}\n`);
      end();
    });
  }
  const { maxRssBytes } = settings;
  if (maxRssBytes !== undefined) limitMemory(maxRssBytes);
}

function limitMemory(maxRssBytes: number): void {
  setInterval(() => {
    if (process.memoryUsage.rss() < maxRssBytes) return;
    writeSync(STDERR, 'out of memory\n');
    end();
  }, RSS_CHECK_MS);
}

function onMessage(kind: number, id: number, payload: ArrayBuffer): void {
  if (kind === MESSAGE.request) {
    run(id, payload);
    return;
  }
  if (kind === MESSAGE.ping) {
    send(MESSAGE.pong, id, []);
    return;
  }
  if (kind === MESSAGE.free) {
    places?.free(new Uint32Array(payload)[0] ?? 0);
    return;
  }
  // Ignore messages after the response.
  const active = activeRequests.get(id);
  if (active === undefined) return;
  if (kind === MESSAGE.batch) active.incoming.push(payload);
  else if (kind === MESSAGE.end) active.end();
  else if (kind === MESSAGE.credit) active.addCredits(new Uint32Array(payload)[0] ?? 0);
  else active.cancel();
}

interface Handler<Request> {
  run(active: ActiveRequest, request: Request): Promise<unknown>;
}

function runner<Request extends { readonly op: string }>(handler: Handler<Request>) {
  return (id: number, payload: ArrayBuffer): void => {
    const request: Request & Traceable = parseJson(payload);
    const spans = request.trace && createRequestSpans(request.op, request.trace);
    const active = createControlledRequest(id, spans);
    activeRequests.set(id, active);
    void respond(active, handler.run(active, request));
  };
}

async function respond(active: ControlledRequest, result: Promise<unknown>): Promise<void> {
  const { id, spans } = active;
  try {
    const response = await result;
    if (spans !== undefined) send(MESSAGE.spans, id, [jsonPayload(spans.finish())]);
    send(MESSAGE.end, id, [jsonPayload(response)]);
  } catch (error) {
    const failure = failureOf(error, active);
    if (spans !== undefined) send(MESSAGE.spans, id, [jsonPayload(spans.finish(failure.code))]);
    send(MESSAGE.error, id, [jsonPayload(failure)]);
  } finally {
    activeRequests.delete(id);
  }
}

function failureOf(error: unknown, active: ActiveRequest): ChildFailure {
  if (active.signal.aborted || error instanceof CancelledError) return { code: 'cancelled', message: 'Cancelled.' };
  if (error instanceof SqlError) return error.failure;
  if (error instanceof DamagedFileError) return { code: 'damaged_file', message: error.message };
  if (error instanceof UnstorableValue) return { code: 'invalid_data', message: error.message };
  const isIntact = error instanceof IntactFileError ? ({ isIntact: true } as const) : {};
  return { code: 'duckdb', message: error instanceof Error ? error.message : String(error), ...isIntact };
}

function send(kind: number, id: number, parts: readonly Uint8Array[]): void {
  sendMessage(socket, kind, id, parts);
}

interface ControlledRequest extends ActiveRequest {
  end(): void;
  addCredits(count: number): void;
  cancel(): void;
}

function createControlledRequest(id: number, spans: RequestSpans | undefined): ControlledRequest {
  const controller = new AbortController();
  const credits = { count: BATCH_CREDITS };
  let wake: (() => void) | undefined;
  let hasAll = false;
  return {
    id,
    spans,
    incoming: [],
    get hasAll() {
      return hasAll;
    },
    end() {
      hasAll = true;
    },
    signal: controller.signal,
    async sendBatch(batch: BatchWriter) {
      const { parts, length } = batch.finish();
      // Only one large batch is in flight at a time.
      const needed = length > LARGE_BATCH_BYTES ? BATCH_CREDITS : 1;
      const readyMs = spans === undefined ? 0 : monotonicMs();
      while (credits.count < needed && !controller.signal.aborted) {
        await new Promise<void>((resolve) => (wake = resolve));
      }
      if (controller.signal.aborted) throw new CancelledError();
      credits.count--;
      spans?.sent(length, monotonicMs() - readyMs);
      const place = places?.put(parts, length);
      // Copied: the next batch is built in the same memory.
      if (place === undefined) send(MESSAGE.batch, id, [Buffer.concat(parts, length)]);
      else send(MESSAGE.placed, id, [wordsPayload(place, length)]);
    },
    sendProgress(fraction, rowsProcessed, rowsTotal) {
      send(MESSAGE.progress, id, [doublesPayload(fraction, rowsProcessed, rowsTotal)]);
    },
    requestBatch() {
      send(MESSAGE.credit, id, [wordsPayload(1)]);
    },
    addCredits(count) {
      credits.count += count;
      wake?.();
    },
    cancel() {
      controller.abort();
      wake?.();
    },
  };
}
