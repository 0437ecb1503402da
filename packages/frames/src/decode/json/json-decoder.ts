import type { ByteBudget } from '../../byte-budget.ts';
import { buffersOf, type ColumnData } from '../../columns/column-data.ts';
import { encodeSchema } from '../arrow/write-schema.ts';
import { AGAIN, type ByteInput, type DecodeSteps, type FramePart, type IsWorking, MORE } from '../decode-steps.ts';
import {
  createJsonMemory,
  itemsOf,
  type JsonColumn,
  type JsonMemory,
  type JsonSegment,
  type JsonTarget,
  kindOf,
  schemaOf,
  showProgress,
  TAG,
} from './json-column.ts';
import type { JsonLayout } from './json-scalars.ts';
import { createJsonRowReader, type JsonRowGroup, type JsonRowReader } from './json-rows.ts';
import { bitsOf, integerAt, Misfit, misfitError, offsetsOf, slotsOf, textOf, validityOf } from './json-text.ts';
import { typedDataOf } from './typed-batches.ts';

export interface JsonOptions {
  /** True if the body can be read again. Default false. */
  readonly canReread?: boolean;
  /** The required columns. Default: those of the rows. */
  readonly target?: JsonTarget | undefined;
}

/** Decodes an array of objects. */
export function decodeJson(input: ByteInput, budget: ByteBudget, options: JsonOptions = {}): DecodeSteps {
  return decodeRows(input, budget, 'array', options);
}

/** Decodes one object per line. */
export function decodeNdjson(input: ByteInput, budget: ByteBudget, options: JsonOptions = {}): DecodeSteps {
  return decodeRows(input, budget, 'lines', options);
}

/** A larger body is read twice, if that is possible. */
const HELD_BYTES = 1 << 24;

/**
 * If the types of all columns are known, batches follow while the body is read.
 *
 * Otherwise the last row can still change the type of a column, so the whole body is read before the schema. Until
 * then, rows are kept as typed columns; or not at all, if they are large and the body can be read again.
 */
function* decodeRows(
  input: ByteInput,
  budget: ByteBudget,
  layout: JsonLayout,
  { canReread = false, target }: JsonOptions,
): DecodeSteps {
  const memory = createJsonMemory(budget);
  const reader = createJsonRowReader(memory, layout, target);
  if (target !== undefined && reader.columns.every((column) => column.target !== undefined)) {
    yield { kind: 'schema', message: encodeSchema(schemaOf(reader.columns)) };
    yield* readBatches(input, reader, memory);
    return;
  }
  let isHeld = true;
  for (let chunk = input.next(); chunk !== undefined || !input.ended; chunk = input.next()) {
    if (chunk === undefined) yield MORE;
    else reader.push(chunk);
    isHeld &&= !canReread || budget.usedBytes <= HELD_BYTES;
    if (!isHeld) dropGroups(reader, budget);
  }
  reader.end();
  if (!isHeld) dropGroups(reader, budget);
  yield { kind: 'schema', message: encodeSchema(schemaOf(reader.columns)) };
  if (isHeld) yield* batchesOf(reader, memory);
  else yield* readAgain(input, reader, memory);
}

function dropGroups(reader: JsonRowReader, budget: ByteBudget): void {
  for (const { bytes } of reader.groups.splice(0)) budget.free(bytes);
}

/** Reads the text again, with the columns known. */
function* readAgain(input: ByteInput, reader: JsonRowReader, memory: JsonMemory): DecodeSteps {
  input.restart();
  reader.restart();
  yield AGAIN;
  yield* readBatches(input, reader, memory);
}

/** Reads the text into batches. */
function* readBatches(input: ByteInput, reader: JsonRowReader, memory: JsonMemory): DecodeSteps {
  for (let chunk = input.next(); chunk !== undefined || !input.ended; chunk = input.next()) {
    if (chunk === undefined) yield MORE;
    else reader.push(chunk);
    yield* batchesOf(reader, memory);
  }
  reader.end();
  yield* batchesOf(reader, memory);
}

function* batchesOf(reader: JsonRowReader, memory: JsonMemory): DecodeSteps {
  for (let batch = yield* nextBatch(reader, memory); batch !== undefined; batch = yield* nextBatch(reader, memory)) {
    yield batch;
  }
}

/** Converts the first group to a batch. The group is freed, and only the bytes of the batch stay counted. */
function* nextBatch(reader: JsonRowReader, memory: JsonMemory): Generator<IsWorking, FramePart | undefined, void> {
  const group = reader.groups.shift();
  if (group === undefined) return undefined;
  const { rows } = group;
  const openBytes = memory.groupBytes;
  memory.groupBytes = group.bytes;
  const columns = yield* groupDataOf(reader.columns, group);
  let heldBytes = 0;
  for (const buffer of buffersOf(columns)) heldBytes += buffer.byteLength;
  memory.budget.free(memory.groupBytes - heldBytes);
  memory.groupBytes = openBytes;
  return { kind: 'batch', rows, columns, heldBytes };
}

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
function* groupDataOf(
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
