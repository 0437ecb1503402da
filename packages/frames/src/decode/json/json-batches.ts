import type { ColumnData } from '../../columns/column-data.ts';
import type { IsWorking } from '../decode-steps.ts';
import { bitsOf, integerAt, offsetsOf, slotsOf, textOf, validityOf } from './json-text.ts';
import { itemsOf, type JsonColumn, type JsonSegment, kindOf, TAG } from './json-column.ts';
import { type JsonMemory, showProgress } from './json-memory.ts';
import { Misfit, misfitError } from './misfit.ts';
import type { JsonRowGroup } from './json-rows.ts';
import { typedDataOf } from './typed-batches.ts';

/**
 * Creates the buffers of a column from a segment; all null if there is none. Bytes are counted before they are
 * allocated.
 */
function* columnDataOf(
  column: JsonColumn,
  segment: JsonSegment | undefined,
  rows: number,
): Generator<IsWorking, ColumnData, void> {
  const { memory, target } = column;
  if (target !== undefined) return yield* typedDataOf({ column, target, segment, rows });
  yield* showProgress(memory);
  const head = { length: rows, ...validityOf(memory, segment, rows) };
  switch (kindOf(column)) {
    case 'bool':
      return { ...head, values: bitsOf(memory, segment, rows, (tag) => tag === TAG.true) };
    case 'long':
      return { ...head, values: new BigInt64Array(slotsOf(memory, segment, rows)) };
    case 'ulong':
      return { ...head, values: new BigUint64Array(slotsOf(memory, segment, rows)) };
    case 'double':
      return { ...head, values: doublesOf(memory, segment, rows) };
    case 'string':
      return {
        ...head,
        values: segment?.text ?? new Uint8Array(0),
        offsets: offsetsOf(memory, segment?.textOffsets, rows),
      };
    case 'text':
      return { ...head, ...textOf(column, segment, rows) };
    case 'list': {
      const offsets = offsetsOf(memory, segment?.listOffsets, rows);
      return { ...head, offsets, children: [yield* columnDataOf(itemsOf(column), segment?.items, offsets[rows])] };
    }
    case 'struct':
    default:
      return { ...head, children: yield* columnsDataOf(column.fields.list, segment?.fields ?? [], rows) };
  }
}

/** Creates the buffers of columns from their segments. */
function* columnsDataOf(
  columns: readonly JsonColumn[],
  segments: readonly (JsonSegment | undefined)[],
  rows: number,
): Generator<IsWorking, ColumnData[], void> {
  const data: ColumnData[] = [];
  for (const [i, column] of columns.entries()) data.push(yield* columnDataOf(column, segments[i], rows));
  return data;
}

/** Creates the buffers of a group of rows. A value that does not fit in its column is `invalid_data`. */
export function* groupDataOf(
  columns: readonly JsonColumn[],
  { columns: segments, rows, firstRow }: JsonRowGroup,
): Generator<IsWorking, ColumnData[], void> {
  const data: ColumnData[] = [];
  for (const [i, column] of columns.entries()) {
    try {
      data.push(yield* columnDataOf(column, segments[i], rows));
    } catch (error) {
      throw error instanceof Misfit ? misfitError(error, firstRow + error.row + 1, column.name) : error;
    }
  }
  return data;
}

/** Integers in a column of doubles become doubles. */
function doublesOf(memory: JsonMemory, segment: JsonSegment | undefined, rows: number): Float64Array<ArrayBuffer> {
  const doubles = new Float64Array(slotsOf(memory, segment, rows));
  if (segment === undefined) return doubles;
  const { tags } = segment;
  for (let row = 0; row < tags.length; row++) {
    const tag = tags[row];
    if (tag === TAG.big) doubles[row] = Number(segment.digits?.get(row));
    else if (tag !== TAG.double && tag !== TAG.null) doubles[row] = Number(integerAt(segment, row));
  }
  return doubles;
}
