import type { AnswerBatch } from '../rows/answer-batch.ts';
import type { ColumnInfo } from './types.ts';

/** Reads the rows of an answer while its bytes arrive. */
export interface TableReader {
  /** Undefined until they have come. */
  readonly columns: readonly ColumnInfo[] | undefined;
  /** What a JSON table has besides its rows, by name. It can be incomplete until the end. */
  readonly members: ReadonlyMap<string, unknown>;
  /** Whether the end of the answer has come. */
  readonly isComplete: boolean;
  /** Returns the rows that are complete now. Throws if the bytes are not such a table. */
  push(chunk: Uint8Array): readonly AnswerBatch[];
}
