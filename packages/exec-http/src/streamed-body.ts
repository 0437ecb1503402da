import { ServiceError, toServiceError } from '@svc/errors';
import { isCancelled } from '@svc/frames/internal';
import type { RequestContext } from './endpoint.ts';
import type { NodeBindings } from './http-call.ts';

/** Chunks as the body of an answer. */
export interface ChunkSource {
  readonly chunks: AsyncIterator<Uint8Array, unknown>;
  /** Whether each chunk is valid only until the next `next()`. */
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
 * Chunks as the body of an answer, made only as fast as the client reads. A failure cuts the connection: what was sent
 * so far must not look like a whole answer.
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
          if (result.done !== true)
            return controller.enqueue(reuseBuffers ? new Uint8Array(result.value) : result.value);
          controller.close();
          context.report(status);
        } catch (thrown) {
          const error = reportFailure(thrown, status, context);
          if (outgoing === undefined) controller.error(error);
          else cutOff(outgoing, context);
        }
      },
      async cancel() {
        reportLeaving(status, context);
        await chunks.return?.();
      },
    },
    { highWaterMark: 0 },
  );
  if (outgoing !== undefined) streamed.set(outgoing, { stream, chunks, reuseBuffers, context, status });
  return stream;
}

/**
 * Writes an answer to its connection where its body is one that `createExecApp` makes as the client reads, and that
 * nobody has touched: without a web stream in between, and out of memory that is used again where it can be. False where
 * the answer is another one, or has been changed; it is then sent as any other.
 */
export function writeStreamed(response: Response, outgoing: Outgoing): boolean {
  const source = streamed.get(outgoing);
  if (source === undefined || response.body !== source.stream || source.stream.locked) return false;
  // Nobody else may begin to read it.
  source.stream.getReader();
  outgoing.setHeaders(response.headers);
  outgoing.writeHead(response.status);
  outgoing.flushHeaders();
  void writeChunks(source, outgoing);
  return true;
}

async function writeChunks({ chunks, status, context }: StreamedResponse, outgoing: Outgoing): Promise<void> {
  // An answer that waits for its turn on the connection is told of its end, and not destroyed.
  let isClosed = outgoing.destroyed || isCancelled(context.call);
  let onWritten: (() => void) | undefined;
  const endChunks = async () => void (await Promise.resolve(chunks.return?.()).catch(() => {}));
  outgoing.once('close', () => {
    isClosed = true;
    if (!outgoing.writableFinished) reportLeaving(status, context);
    onWritten?.();
    // Whoever makes the next chunk stops, too.
    void endChunks();
  });
  try {
    for (;;) {
      const result = await chunks.next();
      if (result.done === true || isClosed) break;
      // Written is what has left this process: only then may the next one be asked for.
      await new Promise<void>((resolve) => {
        onWritten = resolve;
        outgoing.write(result.value, () => resolve());
      });
    }
    if (isClosed) reportLeaving(status, context);
    else context.report(status);
    outgoing.end();
  } catch (thrown) {
    reportFailure(thrown, status, context);
    cutOff(outgoing, context);
  } finally {
    await endChunks();
  }
}

/** Ends the connection of an answer that is not whole. */
function cutOff(outgoing: Outgoing, { c }: RequestContext): void {
  try {
    // HTTP/1.0 knows no chunks: there the end of the connection is that of the answer, and only a reset tells.
    if (c.env.incoming?.httpVersion === '1.0') outgoing.socket?.resetAndDestroy();
  } catch {
    // Only TCP itself can be reset, and neither TLS nor a pipe.
  }
  outgoing.destroy();
}

function reportFailure(thrown: unknown, status: number, context: RequestContext): ServiceError {
  const { signal } = context.call;
  const error = toServiceError(signal.aborted ? signal.reason : thrown);
  context.report(status, error);
  return error;
}

function reportLeaving(status: number, context: RequestContext): void {
  context.report(status, new ServiceError('cancelled', 'The client left before the answer was whole.'));
}
