import type { ArrowTable } from '../api/decode-arrow.ts';

/**
 * Rows of an answer that have arrived together: decoded Arrow columns, or rows of a JSON table. A cell of those is its JSON
 * text exactly as it was sent: `null`, `"a text"`, `1.50`, `[1,2]`. Only the first `rowCount` rows belong to the
 * answer.
 */
export type AnswerBatch =
  | { readonly kind: 'arrow'; readonly table: ArrowTable; readonly rowCount: number }
  | { readonly kind: 'json'; readonly rows: readonly (readonly string[])[]; readonly rowCount: number };

/** How an answer ended: with its last row, at the console's limit, by the user, or before its end by a failure. */
export type AnswerEnd = 'complete' | 'limited' | 'cancelled' | 'cut';
