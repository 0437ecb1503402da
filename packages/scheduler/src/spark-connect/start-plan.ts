import { ServiceError } from '@svc/errors';
import { createResultDecoder, prepend, type ResultDecoder } from '@svc/frames/internal';
import type { RecordBatch, Schema } from 'apache-arrow';
import { schedulerFailed } from '../scheduler-failed.ts';
import type { SparkClient } from './connect-spark.ts';
import { execute, type Execution, MAX_BATCH_BYTES } from './execution.ts';
import type { Plan } from './plan.ts';
import type { OpenedSession } from './spark-session.ts';

/** A plan whose columns are known. */
export interface StartedPlan {
  readonly schema: Schema;
  readonly batches: AsyncGenerator<RecordBatch, void>;
  readonly stop: Execution['stop'];
}

/** Options of `startPlan`. */
export interface StartOptions {
  /** A session that no other plan has used: Spark binds relations as views of the session. */
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
