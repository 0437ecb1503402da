import { randomUUID } from 'node:crypto';
import { cancelledError, onAbort, ServiceError } from '@svc/errors';
import { withResolvers } from '@svc/frames/async';
import { createResultDecoder, type ResultDecoder } from '@svc/frames/ipc';
import { prepend } from '@svc/frames/streams';
import type { Partially, sparkConnect } from '@svc/proto';
import type { RecordBatch, Schema } from 'apache-arrow';
import type { Metadata } from 'nice-grpc';
import { schedulerFailed } from '../driver.ts';
import type { Plan } from './plan.ts';
import { refusalOf, RefusedPlan, transportError } from './spark-errors.ts';
import {
  backoff,
  interrupt,
  isDisconnection,
  MAX_RETRIES,
  type OpenedSession,
  releaseAll,
  releaseUntil,
  type SessionIdentity,
  type SparkClient,
} from './spark-session.ts';

/** A plan whose columns are known. */
export interface StartedPlan {
  readonly schema: Schema;
  readonly batches: AsyncGenerator<RecordBatch, void>;
  readonly stop: Execution['stop'];
}

/** Options of `startPlan`. */
interface StartOptions {
  /** An unused session: Spark binds relations as views of the session. */
  readonly opened: OpenedSession;
  readonly plan: Plan;
  readonly tag: string;
  readonly signal: AbortSignal;
  /** Called with the execution before it starts. */
  readonly onExecution: (execution: Execution) => void;
}

/** Starts a plan, and reads its first batch. If it fails, nothing of it runs any more. The session ends with the plan. */
export async function startPlan(client: SparkClient, options: StartOptions): Promise<StartedPlan> {
  const { opened, plan, tag, signal } = options;
  const execution = execute(client, { ...opened, plan, tag, signal });
  options.onExecution(execution);
  const decoder = createResultDecoder(MAX_BATCH_BYTES);
  try {
    const first = await execution.batches.next();
    const batches = first.done === true ? [] : decode(decoder, first.value);
    if (decoder.schema === undefined) throw schedulerFailed('The scheduler sent a result without columns.');
    const rest = decodeAll(decoder, execution.batches);
    return { schema: decoder.schema, batches: prepend(batches, rest), stop: execution.stop };
  } catch (error) {
    await execution.stop();
    throw error;
  }
}

/** Decodes a batch. The server is not trusted to send valid Arrow. */
function decode(decoder: ResultDecoder, piece: readonly Uint8Array[]): RecordBatch[] {
  try {
    return decoder.decode(piece).filter(({ numRows }) => numRows > 0);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw schedulerFailed(`The scheduler sent a result that cannot be read: ${error.message}`, {
      hint: 'If the message names a column, cast it to another type in the SQL.',
      cause: error,
    });
  }
}

async function* decodeAll(
  decoder: ResultDecoder,
  pieces: AsyncIterable<readonly Uint8Array[]>,
): AsyncGenerator<RecordBatch> {
  for await (const piece of pieces) yield* decode(decoder, piece);
}

/** A plan in a session of its own. */
export interface Execution {
  /** The batches of the result, each as the chunks of an Arrow IPC stream. Can be read once. */
  readonly batches: AsyncGenerator<readonly Uint8Array[]>;
  /** Stops the plan and ends its session. Resolves when the server has stopped it, or cannot be asked. */
  readonly stop: () => Promise<void>;
  /** Resolves when the session has ended, too. */
  readonly ended: Promise<void>;
}

/** Options of `execute`. */
interface ExecuteOptions {
  readonly session: SessionIdentity;
  /** The server's id of the session; empty if it gave none. */
  readonly serverSideId: string;
  readonly plan: Partially<sparkConnect.Relation>;
  readonly tag: string;
  readonly signal: AbortSignal;
}

/** The maximum size of a batch. */
const MAX_BATCH_BYTES = 256 * 2 ** 20;

/** Large batches come in chunks of this size. The client reads 16 messages ahead, so it also bounds memory. */
const CHUNK_BYTES = 2 ** 20;

/** The server keeps responses for a reattachment until they are released. */
const RELEASE_BYTES = 8e6;

/** Runs a plan when its batches are read. Failures are `ServiceError`s or `RefusedPlan`. */
function execute(client: SparkClient, options: ExecuteOptions): Execution {
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
    // After a complete result, nothing runs.
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
    // After a restart, a server would run the plan in a new session, without our settings.
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

/** Collects the chunks of batches. */
interface BatchChunks {
  /** Adds a chunk; returns all chunks of its batch if it was the last one. */
  add(chunk: sparkConnect.ExecutePlanResponseArrowBatch): readonly Uint8Array[] | undefined;
  /** Checks that no batch is incomplete. */
  finish(): void;
}

const MAX_CHUNKS = 65_536n;

/** Creates a collector of chunks of batches with at most `maxBytes`. */
function createBatchChunks(maxBytes: number): BatchChunks {
  let chunks: Uint8Array[] = [];
  let bytes = 0;
  let expected = 1n;

  return {
    add({ data, chunkIndex = 0n, numChunksInBatch = 1n }) {
      if (chunks.length === 0) expected = numChunksInBatch;
      if (
        chunkIndex !== BigInt(chunks.length) ||
        chunkIndex >= expected ||
        numChunksInBatch !== expected ||
        expected > MAX_CHUNKS
      ) {
        throw schedulerFailed(
          `The scheduler sent chunk ${chunkIndex} of ${numChunksInBatch} of a batch where chunk ${chunks.length} of ${expected} was next.`,
        );
      }
      bytes += data.length;
      if (bytes > maxBytes) {
        throw schedulerFailed(`The scheduler sent a batch of more than ${maxBytes} bytes.`, {
          hint: 'Lower spark.connect.grpc.arrow.maxBatchSize of the cluster, or ask for smaller values.',
        });
      }
      chunks.push(data);
      if (BigInt(chunks.length) < expected) return undefined;
      const whole = chunks;
      chunks = [];
      bytes = 0;
      return whole;
    },
    finish() {
      if (chunks.length > 0) throw schedulerFailed('The scheduler ended its response in the middle of a batch.');
    },
  };
}

type Response = sparkConnect.ExecutePlanResponse;

/** The calls for the responses of one operation. */
interface OperationCalls {
  start(options: StreamOptions): AsyncIterable<Response>;
  /** Continues after a response; from the start if there was none. */
  reattach(lastResponseId: string | undefined, options: StreamOptions): AsyncIterable<Response>;
  /** Returns the error of an answered call. */
  refusalOf(error: unknown, trailer: Metadata | undefined): Promise<Error>;
}

/** Options of a call. */
interface StreamOptions {
  readonly signal: AbortSignal;
  readonly onTrailer: (trailer: Metadata) => void;
}

/** After this time, a stream has made progress, even without a response. */
const LASTING_MS = 10_000;

/**
 * Reads the responses of an operation up to the last one, each once. When the connection breaks, or the server ends the
 * stream before (it does so after some minutes), it reattaches.
 */
async function* readResponses(calls: OperationCalls, signal: AbortSignal): AsyncGenerator<Response> {
  let lastResponseId: string | undefined;
  let isStarted = false;
  for (let failures = 0; ; failures++) {
    let trailer: Metadata | undefined;
    const options = { signal, onTrailer: (sent: Metadata) => void (trailer = sent) };
    const since = performance.now();
    const responses = isStarted ? calls.reattach(lastResponseId, options) : calls.start(options);
    isStarted = true;
    try {
      for await (const response of responses) {
        failures = 0;
        if (response.responseId !== '') lastResponseId = response.responseId;
        yield response;
        if (response.resultComplete !== undefined) return;
      }
    } catch (error) {
      if (signal.aborted) throw error;
      if (!isDisconnection(error)) {
        const refusal = await calls.refusalOf(error, trailer);
        // The server never got the request: it can be sent again.
        isStarted = !(failures > 0 && lastResponseId === undefined && isUnknownOperation(refusal));
        if (isStarted || failures >= MAX_RETRIES) throw refusal;
      } else if (failures >= MAX_RETRIES) throw transportError(error);
    }
    if (performance.now() - since > LASTING_MS) failures = 0;
    if (failures >= MAX_RETRIES) throw schedulerFailed('The scheduler ended its response before it was complete.');
    await backoff(failures, signal);
  }
}

function isUnknownOperation(error: Error): boolean {
  if (!(error instanceof RefusedPlan)) return false;
  const { errorClass, message } = error.refusal;
  return /OPERATION_NOT_FOUND|operation not found/i.test(`${errorClass} ${message}`);
}
