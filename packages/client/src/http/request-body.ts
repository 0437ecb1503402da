import type { Silence } from './silence.ts';

/** A body that is in memory, or a file. */
export type WholeBody = string | Uint8Array | Blob;

/** The body of a request. Chunks are streamed; in a browser, which cannot stream over HTTP/1.1, they are collected first. */
export type RequestBody = WholeBody | AsyncIterable<Uint8Array>;

/** A body that is ready to be sent. */
export interface SentBody {
  /** What `fetch` needs for it. */
  readonly init: RequestInit & { readonly duplex?: 'half'; readonly window?: null };
  /** How much longer than other requests it may take: 16 KB a second are the least. */
  readonly extraMs: number;
  /** Whether it can be sent again. */
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
        // Node goes on reading the source of a request that was aborted.
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

/** Whether `fetch` sends a body while it is made: in Node and its like. */
function canStream(): boolean {
  return 'process' in globalThis;
}

/** The types of DOM exclude shared memory, which `fetch` refuses by itself. */
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
