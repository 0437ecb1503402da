import { invalidResponse } from './client-error.ts';

type Parameter = string | number | boolean | undefined;

/** A request to send once. */
export interface SingleRequest {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path without the slash at its beginning: `frames/trades`. */
  readonly path: string;
  /** A list is a repeated parameter; undefined ones are left out. */
  readonly params?: Readonly<Record<string, Parameter | readonly Parameter[]>> | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: WholeBody | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The `x-request-id`. Default: a new one. */
  readonly requestId?: string | undefined;
  /** The statuses besides 2xx to return instead of throwing. Default: none. */
  readonly accept?: readonly number[] | 'any';
}

/** A request to the server. */
export interface ClientRequest extends Omit<SingleRequest, 'body'> {
  readonly body?: RequestBody | undefined;
  /**
   * When it may be sent again: `read` if it failed, because it changes nothing; `conditional` likewise, because its condition
   * excludes that it is taken twice; `write` only if it was refused for now (429); `never`. Default: `read` for GET and HEAD,
   * else `write`.
   */
  readonly repeat?: 'read' | 'conditional' | 'write' | 'never' | undefined;
  /** Called if the request is aborted, by its signal or because the server is silent, before the response is read. */
  readonly onAbort?: () => void;
}

/** A response. */
export interface ClientResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly requestId: string;
  /** Its bytes, to be read once. Not reading them to the end closes the connection. */
  readonly body: ByteStream;
}

/** Sends requests to one server. */
export interface Transport<Request = ClientRequest> {
  /** Throws a `ClientError`, or the reason of an aborted signal. */
  readonly send: (request: Request) => Promise<ClientResponse>;
}

/** A body in memory, or a file. */
type WholeBody = string | Uint8Array | Blob;

/** The body of a request. Chunks are streamed; a browser cannot stream over HTTP/1.1, and collects them first. */
export type RequestBody = WholeBody | AsyncIterable<Uint8Array>;

/** A body ready to be sent. */
export interface SentBody {
  /** What `fetch` needs for it. */
  readonly init: RequestInit & { readonly duplex?: 'half'; readonly window?: null };
  /** How much longer than other requests it may take: 16 KB a second are the least. */
  readonly extraMs: number;
  /** True if it can be sent again. */
  readonly isRepeatable: boolean;
  /** The error of its source; undefined: none. */
  readonly sourceError: () => unknown;
}

const BYTES_PER_MS = 16;

/** Prepares a body. */
export async function prepareBody(body: RequestBody | undefined, silence: Silence): Promise<SentBody> {
  const none = { extraMs: 0, isRepeatable: true, sourceError: () => undefined };
  if (body === undefined) return { ...none, init: {} };
  if (!isStream(body)) return { ...none, extraMs: sizeOf(body) / BYTES_PER_MS, init: { body: asBodyInit(body) } };
  if (!canStream()) {
    const parts: BlobPart[] = [];
    for await (const chunk of body) parts.push(asBodyInit(chunk));
    return prepareBody(new Blob(parts), silence);
  }
  let failure: unknown;
  async function* chunks(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      silence.stop();
      for await (const chunk of source) {
        silence.expect();
        yield chunk;
        // Node goes on reading the source of an aborted request.
        if (silence.signal.aborted) return;
        silence.stop();
      }
      silence.expect();
    } catch (error) {
      failure = error;
      throw error;
    }
  }
  // Otherwise Node keeps all bytes for a redirect.
  const once = { duplex: 'half', redirect: 'error', window: null } as const;
  return {
    extraMs: 0,
    isRepeatable: false,
    sourceError: () => failure,
    init: { ...once, body: streamOf(chunks(body)) },
  };
}

function isStream(body: RequestBody): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && Symbol.asyncIterator in body;
}

function sizeOf(body: WholeBody): number {
  return body instanceof Blob ? body.size : body.length;
}

/** True if `fetch` sends a body while it is made: in Node and its like. */
function canStream(): boolean {
  return 'process' in globalThis;
}

/** The types of DOM exclude shared memory. `fetch` refuses it by itself. */
function asBodyInit<T>(body: T): T & BlobPart {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return body as T & BlobPart;
}

function streamOf(chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await chunks.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      async cancel() {
        await chunks.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Returns a new id of 32 hexadecimal digits. `crypto.randomUUID` is missing in pages from another machine without TLS. */
export function uniqueId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Aborts a request when its caller does, or when the server is silent for too long. */
export interface Silence {
  readonly signal: AbortSignal;
  /** True if the server was silent for too long. */
  readonly isTooLong: boolean;
  /** The server must do something from now on. */
  expect(extraMs?: number): void;
  /** The server did it. */
  stop(): void;
  /** The request has ended: its signal no longer follows the caller's. */
  end(): void;
}

/** Starts to watch a request. `onAbort` is called if it is aborted before its end. */
export function watchSilence(
  timeoutMs: number,
  caller: AbortSignal | undefined,
  onAbort: (() => void) | undefined,
): Silence {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isTooLong = false;
  let isEnded = false;
  // Not AbortSignal.any: in Node 20 it does not keep a signal of AbortSignal.timeout, which then never aborts.
  const follow = (): void => controller.abort(caller?.reason);
  if (caller?.aborted) follow();
  else if (onAbort !== undefined) controller.signal.addEventListener('abort', onAbort, { once: true });
  caller?.addEventListener('abort', follow, { once: true });
  const stop = (): void => clearTimeout(timer);
  return {
    signal: controller.signal,
    get isTooLong() {
      return isTooLong;
    },
    stop,
    expect(extraMs = 0) {
      stop();
      // The source of an upload may outlive its request; a timer would keep the process alive.
      if (isEnded) return;
      const ms = timeoutMs + extraMs;
      // Timers have 32 bits.
      if (ms > 0x7fffffff) return;
      timer = setTimeout(() => {
        isTooLong = true;
        controller.abort();
      }, ms);
    },
    end() {
      isEnded = true;
      stop();
      caller?.removeEventListener('abort', follow);
    },
  };
}

/** Arriving bytes, to be read once. `return` closes the connection if some have not come. */
export interface ByteStream extends AsyncIterableIterator<Uint8Array, void> {
  return(): Promise<IteratorResult<Uint8Array, void>>;
}

/** Reads the bytes of a response. `failure` makes the error if they end early. */
export function readBody(
  body: ReadableStream<Uint8Array> | null,
  signal: AbortSignal | undefined,
  failure: (cause: unknown) => unknown,
): ByteStream {
  const reader = body?.getReader();
  const cancel = (): void => void reader?.cancel().catch(() => undefined);
  // In Node 20 a response does not retain its request; once collected, the request ignores its signal.
  signal?.addEventListener('abort', cancel, { once: true });

  function end(): { readonly done: true; readonly value: undefined } {
    signal?.removeEventListener('abort', cancel);
    cancel();
    return { done: true, value: undefined };
  }

  return {
    async next() {
      try {
        const next = await reader?.read();
        signal?.throwIfAborted();
        return next?.value === undefined ? end() : { done: false, value: next.value };
      } catch (error) {
        end();
        throw failure(error);
      }
    },
    return: () => Promise.resolve(end()),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** Reads bytes as text; throws if they are more than `maxBytes`. */
export async function readText(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw invalidResponse(`The response is longer than ${maxBytes} bytes.`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
