import type { ByteStream } from './http/response-body.ts';

/** Returns the bytes of a response as a stream. Cancelling it closes the connection, and calls `onCancel`. */
export function streamOf(body: ByteStream, onCancel?: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await body.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await body.return();
        onCancel?.();
      },
    },
    { highWaterMark: 0 },
  );
}
