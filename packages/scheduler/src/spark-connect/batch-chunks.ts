import type { sparkConnect } from '@svc/proto';
import { schedulerFailed } from '../scheduler-failed.ts';

/** Collects the chunks of batches. */
export interface BatchChunks {
  /** Adds a chunk; returns all chunks of its batch if it was the last one. */
  add(chunk: sparkConnect.ExecutePlanResponseArrowBatch): readonly Uint8Array[] | undefined;
  /** Checks that no batch is incomplete. */
  finish(): void;
}

const MAX_CHUNKS = 65_536n;

/** Creates a collector of chunks of batches with at most `maxBytes`. */
export function createBatchChunks(maxBytes: number): BatchChunks {
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
