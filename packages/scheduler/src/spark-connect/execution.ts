import { randomUUID } from 'node:crypto';
import { cancelledError, onAbort } from '@svc/errors';
import { withResolvers } from '@svc/frames/internal';
import type { Partially, sparkConnect } from '@svc/proto';
import { createBatchChunks } from './batch-chunks.ts';
import type { SparkClient } from './connect-spark.ts';
import { type OperationCalls, readResponses } from './read-responses.ts';
import { refusalOf } from './spark-errors.ts';
import { interrupt, releaseAll, releaseUntil, type SessionIdentity } from './spark-session.ts';

/** A plan that runs in a session of its own. */
export interface Execution {
  /** The batches of the result, each as the chunks of an Arrow IPC stream. Can be read once. */
  readonly batches: AsyncGenerator<readonly Uint8Array[]>;
  /** Stops the plan and ends its session. Resolves when the server has stopped it, or cannot be asked. */
  readonly stop: () => Promise<void>;
  /** Resolves when the session has ended, too. */
  readonly ended: Promise<void>;
}

/** Options of `execute`. */
export interface ExecuteOptions {
  readonly session: SessionIdentity;
  /** The id that the server gave the session; empty if it gave none. */
  readonly serverSideId: string;
  readonly plan: Partially<sparkConnect.Relation>;
  readonly tag: string;
  readonly signal: AbortSignal;
}

/** The maximum size of a batch. */
export const MAX_BATCH_BYTES = 256 * 2 ** 20;

/** Large batches come in chunks of this size. The client reads 16 messages ahead, so it also bounds memory. */
const CHUNK_BYTES = 2 ** 20;

/** The server keeps responses for a reattachment until they are released. */
const RELEASE_BYTES = 8e6;

/** Runs a plan when its batches are read. Failures are `ServiceError`s or `RefusedPlan`. */
export function execute(client: SparkClient, options: ExecuteOptions): Execution {
  const { session, signal } = options;
  const operationId = randomUUID();
  const controller = new AbortController();
  const { promise: ended, resolve: onEnded } = withResolvers<void>();
  let isComplete = false;
  let stopping: Promise<void> | undefined;
  const stopListening = onAbort(signal, () => void stop());

  function stop(): Promise<void> {
    stopping ??= end();
    return stopping;
  }

  async function end(): Promise<void> {
    stopListening();
    controller.abort();
    // A complete result leaves nothing that runs.
    if (!isComplete) await interrupt(client, session, operationId);
    void releaseAll(client, session, operationId).then(onEnded);
  }

  async function* batches(): AsyncGenerator<readonly Uint8Array[]> {
    const chunks = createBatchChunks(MAX_BATCH_BYTES);
    let heldBytes = 0;
    try {
      for await (const response of readResponses(callsOf(client, operationId, options), controller.signal)) {
        const { arrowBatch, responseId, resultComplete } = response;
        if (resultComplete !== undefined) isComplete = true;
        const whole = arrowBatch && chunks.add(arrowBatch);
        if (whole === undefined) continue;
        yield whole;
        heldBytes += whole.reduce((sum, { length }) => sum + length, 0);
        if (heldBytes < RELEASE_BYTES) continue;
        heldBytes = 0;
        void releaseUntil(client, session, operationId, responseId);
      }
      chunks.finish();
    } catch (error) {
      throw controller.signal.aborted ? cancelledError(signal.reason) : error;
    } finally {
      await stop();
    }
  }

  return { batches: batches(), stop, ended };
}

/** The calls for one plan. It can be reattached, and the server keeps the responses until they are released. */
function callsOf(
  client: SparkClient,
  operationId: string,
  { session, serverSideId, plan, tag }: ExecuteOptions,
): OperationCalls {
  const operation = {
    ...session,
    operationId,
    // A server that was restarted would run the plan in a new session, without our settings.
    ...(serverSideId !== '' && { clientObservedServerSideSessionId: serverSideId }),
  };
  const request = {
    ...operation,
    plan: { root: plan },
    tags: [tag],
    requestOptions: [
      { reattachOptions: { reattachable: true } },
      { resultChunkingOptions: { allowArrowBatchChunking: true, preferredArrowChunkSize: BigInt(CHUNK_BYTES) } },
    ],
  };
  return {
    start: (options) => client.executePlan(request, options),
    reattach: (lastResponseId, options) => client.reattachExecute({ ...operation, lastResponseId }, options),
    refusalOf: (error, trailer) => refusalOf(error, { client, session, trailer }),
  };
}
