import type { DuckDBResult } from '@duckdb/node-api';
import { StatementType } from '../node-api.ts';

/** A streaming result, and a way to find out why it failed. */
export interface RowStream {
  readonly result: DuckDBResult;
  /** Runs the statement again without returning its rows, so that it throws what the stream does not report. */
  readonly rerun: () => Promise<unknown>;
}

/** Before a statement, runs it without returning its rows. */
export const WITHOUT_ROWS = 'EXPLAIN ANALYZE ';

/**
 * Throws if a stream that has ended has failed. DuckDB returns no chunk both at the end and after an error, and the
 * bindings do not expose the error itself; but a failed result has no statement type.
 */
export async function checkEnd({ result, rerun }: RowStream): Promise<void> {
  if (result.statementType !== StatementType.INVALID) return;
  await rerun();
  throw new Error('The statement failed after its first rows, and succeeded when it was run again.');
}
