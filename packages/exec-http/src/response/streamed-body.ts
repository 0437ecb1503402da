import { ServiceError, toServiceError } from '@svc/errors';
import { isCancelled } from '@svc/frames/async';
import type { NodeBindings, RequestContext } from '../request/request-context.ts';

/** The chunks of a response body. */
export interface ChunkSource {
  readonly chunks: AsyncIterator<Uint8Array, unknown>;
  /** True if each chunk is valid only until the next `next()`. */
  readonly reuseBuffers: boolean;
}

type Outgoing = NonNullable<NodeBindings['outgoing']>;

interface StreamedResponse extends ChunkSource {
  readonly stream: ReadableStream<Uint8Array>;
  readonly context: RequestContext;
  readonly status: number;
}

const streamed = new WeakMap<Outgoing, StreamedResponse>();

/**
 * Streams chunks as a response body, with backpressure. An error cuts the connection, so that a truncated response does
 * not look complete.
 */
export function streamedBody(
  { chunks, reuseBuffers }: ChunkSource,
  status: number,
  context: RequestContext,
): ReadableStream<Uint8Array> {
  const outgoing = context.c.env?.outgoing;
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const result = await chunks.next();
          if (result.done !== true) {
            context.sent(result.value.byteLength);
            return controller.enqueue(reuseBuffers ? new Uint8Array(result.value) : result.value);
          }
          controller.close();
          context.report(status);
        } catch (thrown) {
          const error = reportFailure(thrown, status, context);
          if (outgoing === undefined) controller.error(error);
          else cutOff(outgoing, context);
        }
      },
      async cancel() {
        reportDisconnect(status, context);
        await chunks.return?.();
      },
    },
    { highWaterMark: 0 },
  );
  if (outgoing !== undefined) streamed.set(outgoing, { stream, chunks, reuseBuffers, context, status });
  return stream;
}

/**
 * Writes a streamed response of `createExecApp` directly to its connection, without a web stream and with reused buffers.
 * Returns false if the body is not streamed or was replaced or read: send such a response as usual.
 */
export function writeStreamed(response: Response, outgoing: Outgoing): boolean {
  const source = streamed.get(outgoing);
  if (source === undefined || response.body !== source.stream || source.stream.locked) return false;
  // Lock the stream: nothing else may read it.
  source.stream.getReader();
  outgoing.setHeaders(response.headers);
  outgoing.writeHead(response.status);
  outgoing.flushHeaders();
  void writeChunks(source, outgoing);
  return true;
}

async function writeChunks({ chunks, status, context }: StreamedResponse, outgoing: Outgoing): Promise<void> {
  // A queued pipelined response is not destroyed when its connection closes, so check the call too.
  let isClosed = outgoing.destroyed || isCancelled(context.call);
  let onWritten: (() => void) | undefined;
  const endChunks = async () => void (await Promise.resolve(chunks.return?.()).catch(() => {}));
  outgoing.once('close', () => {
    isClosed = true;
    if (!outgoing.writableFinished) reportDisconnect(status, context);
    onWritten?.();
    // Also stops the producer of the next chunk.
    void endChunks();
  });
  try {
    for (;;) {
      const result = await chunks.next();
      if (result.done === true || isClosed) break;
      // Wait until the chunk has left this process: `next()` may reuse its buffer.
      await new Promise<void>((resolve) => {
        onWritten = resolve;
        const { byteLength } = result.value;
        outgoing.write(result.value, (error) => {
          if (!error) context.sent(byteLength);
          resolve();
        });
      });
    }
    if (isClosed) reportDisconnect(status, context);
    else context.report(status);
    outgoing.end();
  } catch (thrown) {
    reportFailure(thrown, status, context);
    cutOff(outgoing, context);
  } finally {
    await endChunks();
  }
}

/** Closes the connection of an incomplete response. */
function cutOff(outgoing: Outgoing, { c }: RequestContext): void {
  try {
    // HTTP/1.0 has no chunked encoding: a normal close would look like the end of the response, a reset does not.
    if (c.env.incoming?.httpVersion === '1.0') outgoing.socket?.resetAndDestroy();
  } catch {
    // Only a TCP socket can be reset, not TLS or a pipe.
  }
  outgoing.destroy();
}

function reportFailure(thrown: unknown, status: number, context: RequestContext): ServiceError {
  const { signal } = context.call;
  const error = toServiceError(signal.aborted ? signal.reason : thrown);
  context.report(status, error);
  return error;
}

function reportDisconnect(status: number, context: RequestContext): void {
  context.report(status, new ServiceError('cancelled', 'The client disconnected before the response was complete.'));
}
