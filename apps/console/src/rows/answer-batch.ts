import type { Table } from '@uwdata/flechette';

/**
 * Rows of an answer that have arrived together: decoded Arrow columns, with 64-bit integers, decimals and times as bigint,
 * or rows of a JSON table. A cell of those is its JSON text exactly as it was sent: `null`, `"a text"`, `1.50`, `[1,2]`.
 * Only the first `rowCount` rows belong to the answer.
 */
export type AnswerBatch =
  | { readonly kind: 'arrow'; readonly table: Table; readonly rowCount: number }
  | { readonly kind: 'json'; readonly rows: readonly (readonly string[])[]; readonly rowCount: number };

/** How an answer ended: with its last row, at the console's limit, by the user, or before its end by a failure. */
export type AnswerEnd = 'complete' | 'limited' | 'cancelled' | 'cut';
