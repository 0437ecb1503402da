import type { IncomingHttpHeaders } from 'node:http';
import type { ServiceError } from '@svc/errors';
import type { TsdbResponse } from './tsdb-proxy.ts';
import { silent } from './upstream-failures.ts';
import type { UpstreamRequest } from './upstream-request.ts';

/** Headers about the connection to the database, about its host, or about a foreign origin. */
const NOT_PASSED_ON = new Set([
  'alt-svc',
  'clear-site-data',
  'connection',
  'date',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'server',
  'set-cookie',
  'set-cookie2',
  'strict-transport-security',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
  'x-powered-by',
  'x-request-id',
]);

/**
 * Returns the headers of the database for clients. `Content-Length` stays if there is a body: its bytes are
 * forwarded unchanged, and a shorter body ends with an error.
 */
export function responseHeaders(upstream: IncomingHttpHeaders, hasBody: boolean): Record<string, string> {
  const named = upstream.connection?.toLowerCase().split(/[\s,]+/);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(upstream)) {
    if (NOT_PASSED_ON.has(name) || named?.includes(name) === true || name.startsWith('access-control-')) continue;
    if (!hasBody && (name === 'content-length' || name === 'content-encoding')) continue;
    const values = typeof value === 'string' ? [value] : (value ?? []);
    const sane = values.filter((one) => HEADER_VALUE.test(one));
    if (sane.length > 0) headers[name] = sane.join(', ');
  }
  return headers;
}

/** The characters of a header value in Node; any other would make the response fail. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The status and headers of a response. */
export type ResponseHead = Pick<TsdbResponse, 'status' | 'headers'>;

/** Creates a response whose body is still arriving; creates a stream only if `body` is used. */
export function createStreamedResponse(
  { status, headers }: ResponseHead,
  chunks: AsyncIterator<Uint8Array, void>,
): TsdbResponse {
  let stream: ReadableStream<Uint8Array> | undefined;
  return {
    status,
    headers,
    chunks,
    get body() {
      return (stream ??= streamOf(chunks));
    },
  };
}

/** Not from a generator: cancelling an unstarted one would not reach the source. */
function streamOf(chunks: AsyncIterator<Uint8Array, void>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done === true) controller.close();
        // Copy: readers of a stream may keep its chunks, whose buffers are reused.
        else controller.enqueue(Uint8Array.from(value));
      },
      async cancel() {
        await chunks.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

/** The connection behind a body. */
export interface BodySource {
  /** From now on, bytes are valid only until `resume`. */
  reuseBuffers(): void;
  /** Stops reading, except for buffered bytes. */
  pause(): void;
  /** The reader is done with the bytes it has: reads on, and may reuse their buffers. */
  resume(): void;
  /** Closes the connection. */
  abort(reason: Error): void;
}

/** The body of a response: the reader takes `chunks`, the parser calls `push` and `close`. */
export interface ResponseBody {
  readonly chunks: AsyncIterator<Uint8Array, void>;
  push(bytes: Uint8Array): void;
  close(): void;
}

/**
 * Reads the body on demand. The idle timeout runs only while the reader waits for bytes: a slow reader is not
 * mistaken for a silent database.
 */
export function createResponseBody(source: BodySource, upstream: UpstreamRequest, idleTimeoutMs: number): ResponseBody {
  const waiting: Uint8Array[] = [];
  let isOver = false;
  let failure: ServiceError | undefined;
  let wake: (() => void) | undefined;

  const lateness = () => silent(idleTimeoutMs);
  const wakeReader = () => {
    upstream.stopWaiting();
    wake?.();
  };
  const end = () => {
    isOver = true;
    upstream.end();
    wakeReader();
  };
  source.reuseBuffers();
  upstream.onAbort((reason) => {
    failure = reason;
    wakeReader();
  });

  async function next(): Promise<IteratorResult<Uint8Array, void>> {
    if (waiting.length === 0 && !isOver && failure === undefined) {
      const woken = new Promise<void>((resolve) => (wake = resolve));
      upstream.waitFor(idleTimeoutMs, lateness);
      source.resume();
      await woken;
    }
    if (failure !== undefined) throw failure;
    const value = waiting.shift();
    return value === undefined ? { done: true, value: undefined } : { done: false, value };
  }

  async function cancel(): Promise<IteratorResult<Uint8Array, void>> {
    waiting.length = 0;
    if (!isOver && failure === undefined) {
      end();
      source.abort(new Error('the reader closed the body'));
    }
    return { done: true, value: undefined };
  }

  return {
    chunks: { next, return: cancel },
    push(bytes) {
      source.pause();
      waiting.push(bytes);
      wakeReader();
    },
    close: end,
  };
}
