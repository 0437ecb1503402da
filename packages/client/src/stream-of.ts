import type { SqlResponse } from './running-queries.ts';

/** Returns the bytes of a response as a stream. Cancelling it closes the connection and ends the SQL. */
export function streamOf({ response: { body }, end }: SqlResponse): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await body.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await body.return();
        end();
      },
    },
    { highWaterMark: 0 },
  );
}
