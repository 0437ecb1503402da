import type { ColumnData } from './column-data.ts';
import { itemsOf, type JsonColumn, type JsonSegment, TAG } from './json-column.ts';
import { integerAt, textOf } from './json-text.ts';
import { kindOf } from './json-types.ts';

/** The buffers of a column for the rows of a segment; all null where the column appeared only later. */
export function columnDataOf(column: JsonColumn, segment: JsonSegment | undefined, rows: number): ColumnData {
  const { nullCount, validity } = validityOf(segment, rows);
  const head = { length: rows, nullCount, ...(nullCount === 0 ? {} : { validity }) };
  switch (kindOf(column)) {
    case 'bool':
      return { ...head, values: bitsOf(segment, rows, TAG.true) };
    case 'long':
      return { ...head, values: new BigInt64Array(slotsOf(segment, rows)) };
    case 'ulong':
      return { ...head, values: new BigUint64Array(slotsOf(segment, rows)) };
    case 'double':
      return { ...head, values: doublesOf(segment, rows) };
    case 'string':
      return { ...head, values: segment?.text ?? new Uint8Array(0), offsets: fullOffsets(segment?.textOffsets, rows) };
    case 'text':
      return { ...head, ...(segment === undefined ? emptyText(rows) : textOf(column, segment)) };
    case 'list':
      return {
        ...head,
        offsets: fullOffsets(segment?.listOffsets, rows),
        children: [columnDataOf(itemsOf(column), segment?.items, segment?.items?.rows ?? 0)],
      };
    case 'struct':
    default:
      return {
        ...head,
        children: column.fields.list.map((field, i) => columnDataOf(field, segment?.fields[i], rows)),
      };
  }
}

function emptyText(rows: number) {
  return { values: new Uint8Array(0), offsets: new Int32Array(rows + 1) };
}

/** A segment that has no value of a kind has no offsets for it. */
function fullOffsets(offsets: Int32Array<ArrayBuffer> | undefined, rows: number): Int32Array<ArrayBuffer> {
  return offsets?.length === rows + 1 ? offsets : new Int32Array(rows + 1);
}

function slotsOf(segment: JsonSegment | undefined, rows: number): ArrayBuffer {
  return segment?.slots.byteLength === 8 * rows ? segment.slots : new ArrayBuffer(8 * rows);
}

function validityOf(segment: JsonSegment | undefined, rows: number) {
  const validity = new Uint8Array(Math.ceil(rows / 8));
  let nullCount = rows;
  if (segment === undefined) return { validity, nullCount };
  for (let row = 0; row < rows; row++) {
    if (segment.tags[row] === TAG.null) continue;
    validity[row >> 3] |= 1 << (row & 7);
    nullCount--;
  }
  return { validity, nullCount };
}

function bitsOf(segment: JsonSegment | undefined, rows: number, tag: number): Uint8Array<ArrayBuffer> {
  const bits = new Uint8Array(Math.ceil(rows / 8));
  if (segment === undefined) return bits;
  for (let row = 0; row < rows; row++) {
    if (segment.tags[row] === tag) bits[row >> 3] |= 1 << (row & 7);
  }
  return bits;
}

/** Whole numbers of a column of doubles become doubles. */
function doublesOf(segment: JsonSegment | undefined, rows: number): Float64Array<ArrayBuffer> {
  const doubles = new Float64Array(slotsOf(segment, rows));
  if (segment === undefined) return doubles;
  for (let row = 0; row < rows; row++) {
    const tag = segment.tags[row];
    if (tag === TAG.big) doubles[row] = Number(segment.digits?.get(row));
    else if (tag !== TAG.double && tag !== TAG.null) doubles[row] = Number(integerAt(segment, row));
  }
  return doubles;
}
