import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { Field } from 'apache-arrow';
import { typeOf } from '../../arrow-types.ts';
import type { ByteBudget } from '../../byte-budget.ts';
import type { ColumnData } from '../../columns/column-data.ts';
import type { DecodeStep } from '../decode-steps.ts';
import { joinColumns, wholeColumn } from '../../columns/join-columns.ts';
import { allocateCounted } from '../limits.ts';

/** A batch of a frame. */
export type Batch = Extract<DecodeStep, { kind: 'batch' }>;

/** Merges small batches into larger ones: a frame of very many tiny batches would be slow to read. */
export interface BatchMerger {
  /** Adds a batch, and returns the batches that are complete. */
  add(batch: Batch): readonly Batch[];
  /** Returns the rest. */
  flush(): readonly Batch[];
}

// A batch with this many rows or bytes is large enough.
const ENOUGH_ROWS = 65_536;
const ENOUGH_BYTES = 1 << 20;

/** The maximum number of buffered columns: each is an object, even without bytes. */
const MAX_WAITING_COLUMNS = 1 << 17;

/** Creates a merger of batches with these fields. Rows keep their order; batches without rows are dropped. */
export function createBatchMerger(fields: readonly Field[], budget: ByteBudget): BatchMerger {
  let waiting: Batch[] = [];
  let rows = 0;
  let bytes = 0;

  function flush(): readonly Batch[] {
    const batches = waiting;
    if (batches.length === 0) return [];
    const [first] = batches;
    const merged = batches.length === 1 ? first : joined(batches);
    waiting = [];
    rows = 0;
    bytes = 0;
    return [merged];
  }
  function joined(batches: readonly Batch[]): Batch {
    const before = budget.usedBytes;
    const columns: readonly ColumnData[] = fields.map((field, i) =>
      joinColumns(
        typeOf(field),
        batches.map((batch) => wholeColumn(batch.columns[i])),
        {
          allocate: (size) => allocateCounted(budget, size),
          tooLarge: (what) =>
            new ServiceError('invalid_data', `Column ${quoted(field.name)}: ${what}.`, {
              hint: 'Send it in larger batches, or with the type large utf8, large binary or large list.',
            }),
        },
      ),
    );
    const heldBytes = budget.usedBytes - before;
    budget.free(bytes);
    return { kind: 'batch', rows, columns, heldBytes };
  }
  return {
    add(batch) {
      if (batch.rows === 0) {
        budget.free(batch.heldBytes);
        return [];
      }
      const isLarge = 2 * batch.rows >= ENOUGH_ROWS || 2 * batch.heldBytes >= ENOUGH_BYTES;
      if (isLarge) return [...flush(), batch];
      waiting.push(batch);
      rows += batch.rows;
      bytes += batch.heldBytes;
      const isEnough = rows >= ENOUGH_ROWS || bytes >= ENOUGH_BYTES;
      return isEnough || waiting.length * fields.length >= MAX_WAITING_COLUMNS ? flush() : [];
    },
    flush,
  };
}
