import { setBit } from '../../columns/bits.ts';
import type { ColumnData } from '../../columns/column-data.ts';
import type { IsWorking } from '../decode-steps.ts';
import { itemsOf, type JsonColumn, type JsonSegment, TAG } from './json-column.ts';
import { allocateCounted, type JsonMemory, showProgress } from './json-memory.ts';
import { integerAt, textOf } from './json-text.ts';
import { kindOf } from './json-types.ts';

/**
 * Creates the buffers of a column from a segment; all null if there is none. Bytes are counted before they are
 * allocated.
 */
function* columnDataOf(
  column: JsonColumn,
  segment: JsonSegment | undefined,
  rows: number,
): Generator<IsWorking, ColumnData, void> {
  const { memory } = column;
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
export function* columnsDataOf(
  columns: readonly JsonColumn[],
  segments: readonly (JsonSegment | undefined)[],
  rows: number,
): Generator<IsWorking, ColumnData[], void> {
  const data: ColumnData[] = [];
  for (const [i, column] of columns.entries()) data.push(yield* columnDataOf(column, segments[i], rows));
  return data;
}

/** Returns the end of each row. A segment may have offsets only up to its last value. */
function offsetsOf(
  memory: JsonMemory,
  known: Int32Array<ArrayBuffer> | undefined,
  rows: number,
): Int32Array<ArrayBuffer> {
  if (known?.length === rows + 1) return known;
  const offsets = new Int32Array(allocateCounted(memory, 4 * (rows + 1)).buffer);
  if (known === undefined || known.length === 0) return offsets;
  offsets.set(known);
  return offsets.fill(known[known.length - 1], known.length);
}

function slotsOf(memory: JsonMemory, segment: JsonSegment | undefined, rows: number): ArrayBuffer {
  if (segment?.slots.byteLength === 8 * rows) return segment.slots;
  const slots = allocateCounted(memory, 8 * rows);
  if (segment !== undefined) slots.set(new Uint8Array(segment.slots));
  return slots.buffer;
}

function validityOf(memory: JsonMemory, segment: JsonSegment | undefined, rows: number) {
  const tags = segment?.tags ?? [];
  let nullCount = rows;
  for (let row = 0; row < tags.length; row++) if (tags[row] !== TAG.null) nullCount--;
  if (nullCount === 0) return { nullCount };
  return { nullCount, validity: bitsOf(memory, segment, rows, (tag) => tag !== TAG.null) };
}

/** Returns a bit for each row, set if its tag matches. */
function bitsOf(
  memory: JsonMemory,
  segment: JsonSegment | undefined,
  rows: number,
  isMeant: (tag: number) => boolean,
): Uint8Array<ArrayBuffer> {
  const bits = allocateCounted(memory, Math.ceil(rows / 8));
  if (segment === undefined) return bits;
  const { tags } = segment;
  for (let row = 0; row < tags.length; row++) {
    if (isMeant(tags[row])) setBit(bits, row);
  }
  return bits;
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
