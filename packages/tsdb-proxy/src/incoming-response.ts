import { type ResponseBody, type BodySource, createResponseBody } from './response-body.ts';
import type { UpstreamRequest } from './upstream-request.ts';
import { isBodiless } from './response-headers.ts';
import { createStreamedResponse, type ResponseHead } from './streamed-response.ts';
import type { TsdbResponse } from './tsdb-proxy.ts';

/** A response whose headers have arrived. */
export interface IncomingResponse {
  push(bytes: Uint8Array): void;
  /** The body is complete. */
  close(): void;
  /** Resolves with the response now, however much of its body has arrived. */
  begin(): void;
}

/** Options of `receiveResponse`. */
export interface ReceiveOptions {
  readonly upstream: UpstreamRequest;
  readonly idleTimeoutMs: number;
  readonly resolve: (response: TsdbResponse) => void;
}

/**
 * Resolves with the response once the bytes that arrived together with its headers are parsed: a small response is
 * complete by then and needs no stream, which would cost more than the rest of the request.
 */
export function receiveResponse(
  head: ResponseHead,
  source: BodySource,
  { upstream, idleTimeoutMs, resolve }: ReceiveOptions,
): IncomingResponse {
  const early: Uint8Array[] = [];
  let body: ResponseBody | undefined;
  let isBegun = false;

  const begin = () => {
    if (isBegun || upstream.isOver) return;
    isBegun = true;
    if (isBodiless(head.status)) return resolve({ ...head, body: null });
    body = createResponseBody(source, upstream, idleTimeoutMs);
    for (const bytes of early) body.push(bytes);
    resolve(createStreamedResponse(head, body.chunks));
  };
  // Deferred until the parser has consumed the current read.
  queueMicrotask(begin);

  return {
    begin,
    push(bytes) {
      if (body === undefined) early.push(bytes);
      else body.push(bytes);
    },
    close() {
      if (body !== undefined) return body.close();
      upstream.end();
      if (isBegun) return;
      isBegun = true;
      resolve(isBodiless(head.status) ? { ...head, body: null } : new BufferedResponse(head, early));
    },
  };
}

/** A response with a complete body; creates a stream only if `body` is used. */
export class BufferedResponse implements TsdbResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly bytes: Uint8Array;
  #stream: ReadableStream<Uint8Array> | undefined;

  constructor({ status, headers }: ResponseHead, chunks: readonly Uint8Array[]) {
    this.status = status;
    this.headers = headers;
    this.bytes = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
  }

  get body(): ReadableStream<Uint8Array> {
    return (this.#stream ??= streamOf(this.bytes));
  }
}

function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      if (bytes.byteLength > 0) controller.enqueue(bytes);
      controller.close();
    },
  });
}
