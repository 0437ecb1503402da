import type { BatchWriter } from '../wire/batch.ts';

/** A request that is being worked on, as who works on it sees it. */
export interface ActiveRequest {
  readonly id: number;
  /** Aborted when the parent does not want the answer any more. */
  readonly signal: AbortSignal;
  /** Sends a batch as soon as the parent wants one more. */
  sendBatch(batch: BatchWriter): Promise<void>;
  /** Tells the parent that one more batch may come. */
  requestBatch(): void;
  /** Batches that came and nobody has taken yet. */
  readonly incoming: ArrayBuffer[];
  /** Whether the last batch has come. */
  readonly hasAll: boolean;
}

/** The parent does not want the answer any more. */
export class CancelledError extends Error {}
