import type { TsdbResponse } from '@svc/tsdb-proxy';

/** Calls `onEnd` when the body of a response is read to its end, fails or is cancelled; at once if it has arrived whole. */
export function endWithResponse(response: TsdbResponse, onEnd: () => void): TsdbResponse {
  const { status, headers, bytes } = response;
  const source = response.chunks ?? (bytes === undefined ? response.body?.values() : undefined);
  if (source === undefined) {
    onEnd();
    return response;
  }
  const chunks: AsyncIterator<Uint8Array, void> = {
    async next() {
      try {
        const next = await source.next();
        if (next.done === true) onEnd();
        return next;
      } catch (error) {
        onEnd();
        throw error;
      }
    },
    async return() {
      onEnd();
      return (await source.return?.()) ?? { done: true, value: undefined };
    },
  };
  let body: ReadableStream<Uint8Array> | undefined;
  return {
    status,
    headers,
    chunks,
    get body() {
      return (body ??= streamOf(chunks));
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
