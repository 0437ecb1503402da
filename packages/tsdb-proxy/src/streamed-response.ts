import type { TsdbResponse } from './tsdb-proxy.ts';

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

/** Not from a generator: cancelling one that has not started would not reach the source. */
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
