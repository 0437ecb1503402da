import { invalidResponse } from './client-error.ts';

/** Bytes that arrive, to be read once. `return` closes the connection if they have not all come. */
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
