import { type ResponseBody, type BodySource, createResponseBody } from './response-body.ts';
import type { UpstreamRequest } from './upstream-request.ts';
import type { TsdbResponse } from './tsdb-proxy.ts';

type ResponseHead = Pick<TsdbResponse, 'status' | 'headers'>;

/** An answer whose head has come, and what is still to come of it. */
export interface IncomingResponse {
  push(bytes: Uint8Array): void;
  /** It is whole. */
  close(): void;
  /** Hands the answer on, whatever has come of its body. */
  begin(): void;
}

/** Who waits for an answer. */
export interface ReceiveOptions {
  readonly upstream: UpstreamRequest;
  readonly idleTimeoutMs: number;
  readonly resolve: (response: TsdbResponse) => void;
}

/**
 * Hands an answer on with its head, but for the bytes that were read together with that: a small answer is whole by
 * then, and needs no stream, which takes longer to make than all the rest of the way.
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
    if (head.status === 204) return resolve({ ...head, body: null });
    body = createResponseBody(source, upstream, idleTimeoutMs);
    for (const bytes of early) body.push(bytes);
    resolve(new StreamedResponse(head, body.chunks));
  };
  // Not before the parser is done with what was read.
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
      resolve(head.status === 204 ? { ...head, body: null } : new BufferedResponse(head, early));
    },
  };
}

/** An answer whose body is still to come. */
class StreamedResponse implements TsdbResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly chunks: AsyncIterator<Uint8Array, void>;
  #stream: ReadableStream<Uint8Array> | undefined;

  constructor({ status, headers }: ResponseHead, chunks: AsyncIterator<Uint8Array, void>) {
    this.status = status;
    this.headers = headers;
    this.chunks = chunks;
  }

  get body(): ReadableStream<Uint8Array> {
    return (this.#stream ??= streamOfChunks(this.chunks));
  }
}

/** An answer that needs no stream, unless somebody asks for one. */
class BufferedResponse implements TsdbResponse {
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

function streamOfChunks(chunks: AsyncIterator<Uint8Array, void>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done === true) controller.close();
        // A copy: who reads a stream may keep what it gave.
        else controller.enqueue(Buffer.from(value));
      },
      async cancel() {
        await chunks.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      if (bytes.byteLength > 0) controller.enqueue(bytes);
      controller.close();
    },
  });
}
