import type { BatchWriter } from '../wire/batch.ts';
import type { RequestSpans } from './request-spans.ts';

/** The child's side of one request. */
export interface ActiveRequest {
  readonly id: number;
  /** Aborted when the parent cancels the request. */
  readonly signal: AbortSignal;
  /** Sends a batch when the parent has granted a credit for it. */
  sendBatch(batch: BatchWriter): Promise<void>;
  /** Reports the progress: a fraction from 0 to 1, and rows. */
  sendProgress(fraction: number, rowsProcessed: number, rowsTotal: number): void;
  /** Grants the parent a credit for one more batch. */
  requestBatch(): void;
  /** Received batches that are not processed yet. */
  readonly incoming: ArrayBuffer[];
  /** Whether the last batch has been received. */
  readonly hasAll: boolean;
  /** Undefined if the request is not traced. */
  readonly spans: RequestSpans | undefined;
}

/** The parent cancelled the request. */
export class CancelledError extends Error {}
