import { ServiceError } from '@svc/errors';
import { type Data, DataType, type Dictionary, Field, type RecordBatch, Type, type Vector } from 'apache-arrow';
import { columnTypeName } from '../../column-types.ts';
import { chunksOf, offsetsOf, valuesOf } from '../../columns/record-batch.ts';
import { ITEM_BYTES, KIND, KIND_LIST, KIND_WRITTEN, STRIDE, VALUES, VALUES_END } from '../kernel/kernel-layout.ts';
import type { Kernel } from '../kernel/kernel.ts';
import {
  allocateColumns,
  cellPieces,
  type Column,
  COMMA,
  createObjectText,
  createRecordText,
  loadChild,
  nullableColumn,
  outOfBounds,
  type Pieces,
  type PieceWriter,
  quotedColumn,
  recordColumn,
  setField,
  WINDOW_BYTES,
  MAX_ROW_BYTES,
} from './column.ts';
import {
  booleanColumn,
  createOffsets,
  createPlainColumn,
  createTextColumn,
  csvJsonColumn,
  nullColumn,
  uuidColumn,
} from './plain-columns.ts';

export interface CellOptions {
  /** CSV writes texts without quotes if possible, and nothing for null. */
  readonly syntax: 'json' | 'csv';
  /** Write LONG, ULONG and LONG128 as strings, for clients that read JSON numbers as doubles. */
  readonly quoteLargeNum: boolean;
  /**
   * The last dictionary of each id, type and syntax with its written values: the next batch usually has the same one.
   */
  readonly dictionaries: Map<string, DictionaryValues>;
}

/** Creates the options for one result. */
export function createCellOptions(syntax: CellOptions['syntax'], quoteLargeNum = false): CellOptions {
  return { syntax, quoteLargeNum, dictionaries: new Map() };
}

/** Creates the columns of a batch. */
export function createColumns(batch: RecordBatch, fields: readonly Field[], options: CellOptions): readonly Column[] {
  return fields.map((field, i) => createColumn(batch.data.children[i], field, options));
}

function createColumn(data: Data, field: Field, options: CellOptions): Column {
  const isCsv = options.syntax === 'csv';
  if (DataType.isNull(data.type)) return nullColumn(isCsv);
  return nullableColumn(createValueColumn(data, field, options), data, isCsv);
}

function createValueColumn(data: Data, field: Field, options: CellOptions): Column {
  const { type } = data;
  const isCsv = options.syntax === 'csv';
  const quotedInJson = (column: Column): Column => (isCsv ? column : quotedColumn(column));
  if (DataType.isBool(type)) return booleanColumn(data);
  if (DataType.isDictionary(type)) return dictionaryColumn(data, type, field, options);
  const plain = createPlainColumn(data, isCsv);
  if (plain) return isQuoted(type, field, options) ? quotedInJson(plain) : plain;
  if (columnTypeName(field) === 'UUID') return quotedInJson(uuidColumn(data));
  const text = createTextColumn(data, isCsv);
  if (text) return columnTypeName(field) === 'BINARY' ? quotedInJson(text) : text;
  return nestedColumn(data, options);
}

/** True for the numbers and times that are strings in JSON, except for timestamps, which have quotes already. */
function isQuoted(type: DataType, field: Field, { quoteLargeNum }: CellOptions): boolean {
  if (DataType.isInt(type)) return quoteLargeNum && (type.bitWidth === 64 || (type.bitWidth === 32 && !type.isSigned));
  if (DataType.isDecimal(type)) return quoteLargeNum || columnTypeName(field) !== 'LONG128';
  return !DataType.isFloat(type) && !DataType.isTimestamp(type);
}

function nestedColumn(data: Data, options: CellOptions): Column {
  const inner: CellOptions = { ...options, syntax: 'json' };
  const column = createNestedColumn(data, (child, field) => createColumn(child, field, inner));
  if (column === undefined) throw new TypeError(`No column for the Arrow type ${Type[data.typeId]}.`);
  return options.syntax === 'csv' ? csvJsonColumn(column) : column;
}

function dictionaryColumn(data: Data, type: Dictionary, { metadata }: Field, options: CellOptions): Column {
  const { dictionary } = data;
  const indices = valuesOf(data);
  const field = new Field('', type.dictionary, true, metadata);
  const key = `${type.id} ${columnTypeName(field)} ${options.syntax}`;
  const known = options.dictionaries.get(key);
  const values =
    known !== undefined && known.dictionary === dictionary
      ? known
      : createDictionaryValues(dictionary, (part) => createColumn(part, field, options));
  options.dictionaries.set(key, values);
  return {
    fixedBytes: 0,
    loadedBytes: (from, to) => values.loadedBytes(indices, from, to),
    load: (kernel, place, from, to) => values.load(kernel, place, indices, from, to),
    pieces: (row, writer) => values.pieces(Number(indices[row]), writer),
  };
}

type CreateColumn = (data: Data, field: Field) => Column;

/** Creates a column of lists, structs or maps as JSON; undefined for other types. */
function createNestedColumn(data: Data, createItem: CreateColumn): Column | undefined {
  const { type } = data;
  if (DataType.isStruct(type)) {
    const fields: readonly Field[] = type.children;
    const names = fields.map((field) => field.name);
    return recordColumn(
      fields.map((field, i) => createItem(data.children[i], field)),
      createObjectText(names, '}'),
    );
  }
  if (DataType.isList(type) || DataType.isLargeList(type)) {
    return listColumn(data, createItem(data.children[0], type.children[0]));
  }
  if (DataType.isMap(type)) {
    const entries = data.children[0];
    const fields: readonly Field[] = entries.type.children;
    const pair = fields.map((field, i) => createItem(entries.children[i], field));
    return listColumn(data, recordColumn(pair, PAIR_TEXT));
  }
  if (DataType.isFixedSizeList(type)) {
    return fixedListColumn(type.listSize, createItem(data.children[0], type.children[0]));
  }
  return undefined;
}

const PAIR_TEXT = createRecordText(['[', ','], ']');
const BRACKET_BYTES = 2;
const ITEM_TEXT = createRecordText([''], ',');
const OPEN = Buffer.from('[');
const CLOSE = Buffer.from(']');

/** Writes a long list: as many items at a time as there is space for. */
function* listPieces(item: Column, from: number, to: number, writer: PieceWriter): Pieces {
  if (from > to) throw outOfBounds();
  const items = writer.open(recordColumn([item], ITEM_TEXT), from, to);
  yield OPEN;
  while (items.row < to) {
    const written = items.writeUpTo(to);
    if (written !== undefined) {
      yield items.row < to ? written.bytes : written.bytes.subarray(0, -1);
    } else {
      yield* cellPieces(item, items.row, writer);
      items.skip();
      if (items.row < to) yield COMMA;
    }
  }
  yield CLOSE;
}

function listColumn(data: Data, item: Column): Column {
  const offsets = createOffsets(offsetsOf(data));
  const itemEnd = (from: number, to: number): number => Math.max(offsets.at(from), offsets.at(to));
  return {
    fixedBytes: BRACKET_BYTES,
    loadedBytes: (from, to) => offsets.width * (to - from) + item.loadedBytes(offsets.at(from), itemEnd(from, to)),
    load: (kernel, place, from, to) => {
      const first = offsets.at(from);
      const end = itemEnd(from, to);
      offsets.load(kernel, place, from, to);
      setField(kernel, place, KIND, KIND_LIST);
      setField(kernel, place, ITEM_BYTES, item.fixedBytes);
      setField(kernel, place, VALUES_END, end - first);
      loadChild(kernel, place, item, first, end);
    },
    pieces: (row, writer) => listPieces(item, offsets.at(row), offsets.at(row + 1), writer),
  };
}

function fixedListColumn(size: number, item: Column): Column {
  return {
    fixedBytes: BRACKET_BYTES,
    loadedBytes: (from, to) => to - from + item.loadedBytes(size * from, size * to),
    load: (kernel, place, from, to) => {
      setField(kernel, place, KIND, KIND_LIST);
      setField(kernel, place, STRIDE, size);
      setField(kernel, place, ITEM_BYTES, item.fixedBytes);
      setField(kernel, place, VALUES_END, size * (to - from));
      loadChild(kernel, place, item, size * from, size * to);
    },
    pieces: (row, writer) => listPieces(item, size * row, size * (row + 1), writer),
  };
}

/** The encoded values of a dictionary. */
type DictionaryValues = ReturnType<typeof createDictionaryValues>;
type Indices = ArrayLike<number | bigint>;

/** The number of values encoded at a time: fewer waste calls, more are encoded in vain. */
const BLOCK_VALUES = 64;
const FIRST_BLOCK_BYTES = 64 * 1024;
/** A dictionary of at most this size is loaded without computing how many bytes are needed. */
const SMALL_BYTES = 256 * 1024;
/** The kernel gets a pointer and a length for each row. */
const PLACE_BYTES = 8;

/** Creates the values of a dictionary. Each is encoded once, when it or a neighbour is first used. */
function createDictionaryValues(dictionary: Vector | undefined, columnOf: (data: Data) => Column) {
  const length = dictionary?.length ?? 0;
  const parts = createParts(dictionary, columnOf);
  const isSmall =
    parts.reduce((sum, { column, end, first }) => sum + column.loadedBytes(0, end - first), 0) <= SMALL_BYTES;
  const written = createWrittenValues(length);
  const pointers = new Uint32Array(length);

  /** Encodes the block that contains a value. */
  function writeBlock(kernel: Kernel, index: number): void {
    const part = partOf(parts, index);
    if (part === undefined) return;
    const place = index - part.first;
    let from = place - (place % BLOCK_VALUES);
    let to = Math.min(from + BLOCK_VALUES, part.end - part.first);
    // Not the long neighbours of a short value.
    if (part.column.loadedBytes(from, to) > WINDOW_BYTES) [from, to] = [place, place + 1];
    writeCells(kernel, part.column, from, to, (row, bytes) => written.keep(part.first + row, bytes));
  }

  return {
    dictionary,
    /** Estimates the bytes of the kernel's memory a column of indices takes. */
    loadedBytes(indices: Indices, from: number, to: number): number {
      let sum = PLACE_BYTES * (to - from);
      if (isSmall) return sum;
      for (let row = from; row < to && sum <= WINDOW_BYTES; row++) {
        const index = Number(indices[row]);
        const part = partOf(parts, index);
        if (part) sum += part.column.loadedBytes(index - part.first, index - part.first + 1);
      }
      return sum;
    },
    /** Loads a column of indices: each encoded value is copied to the kernel's memory once. */
    load(kernel: Kernel, place: number, indices: Indices, from: number, to: number): void {
      const places = kernel.allocate(PLACE_BYTES * (to - from));
      const loaded: number[] = [];
      let { words } = kernel;
      let at = places >> 2;
      for (let row = from; row < to; row++) {
        const index = Number(indices[row]);
        // An invalid index is an error only if its row is written.
        const isThere = index >= 0 && index < length;
        if (isThere && pointers[index] === 0) {
          if (!written.has(index)) writeBlock(kernel, index);
          pointers[index] = kernel.put(written.bytesOf(index));
          loaded.push(index);
          ({ words } = kernel);
        }
        words[at++] = isThere ? pointers[index] : 0;
        words[at++] = isThere ? written.lengthOf(index) : 0;
      }
      for (const index of loaded) pointers[index] = 0;
      setField(kernel, place, KIND, KIND_WRITTEN);
      setField(kernel, place, VALUES, places);
    },
    /** Writes a long value. */
    pieces(index: number, writer: PieceWriter): Pieces {
      const part = partOf(parts, index);
      if (part === undefined) throw outOfBounds();
      return cellPieces(part.column, index - part.first, writer);
    },
  };
}

/** One part of a dictionary: the values from `first` to `end`. */
interface Part {
  readonly first: number;
  readonly end: number;
  readonly column: Column;
}

function createParts(dictionary: Vector | undefined, columnOf: (data: Data) => Column): readonly Part[] {
  let end = 0;
  return chunksOf(dictionary).map((data) => {
    const first = end;
    end += data.length;
    return { first, end, column: columnOf(data) };
  });
}

function partOf(parts: readonly Part[], index: number): Part | undefined {
  for (const part of parts) if (index >= part.first && index < part.end) return part;
  return undefined;
}

/** The values are kept in parts of at most this size, unless one is longer. */
const MAX_PART_BYTES = 1024 * 1024;

/** The bytes of the values encoded so far. */
function createWrittenValues(length: number) {
  // The part of each value, from 1, as 0 means not encoded, and the place of its bytes there.
  const places = new Uint32Array(length);
  const starts = new Uint32Array(length);
  const lengths = new Uint32Array(length);
  const parts: Uint8Array[] = [];
  let last = new Uint8Array(0);
  let end = 0;
  return {
    has: (index: number): boolean => places[index] !== 0,
    lengthOf: (index: number): number => lengths[index],
    bytesOf: (index: number): Uint8Array =>
      parts[places[index] - 1].subarray(starts[index], starts[index] + lengths[index]),
    keep(index: number, written: Uint8Array): void {
      if (parts.length === 0 || end + written.length > last.length) {
        last = new Uint8Array(Math.max(written.length, Math.min(2 * last.length, MAX_PART_BYTES), 1024));
        parts.push(last);
        end = 0;
      }
      last.set(written, end);
      places[index] = parts.length;
      starts[index] = end;
      lengths[index] = written.length;
      end += written.length;
    },
  };
}

/** Encodes cells of a column one by one, in a scope of the kernel's memory. */
function writeCells(
  kernel: Kernel,
  column: Column,
  from: number,
  to: number,
  keep: (row: number, written: Uint8Array) => void,
): void {
  let room = FIRST_BLOCK_BYTES;
  for (let row = from; row < to;) {
    if (room > MAX_ROW_BYTES) throw valueTooLong();
    const next = kernel.scoped(() => {
      const place = allocateColumns(kernel, 1);
      column.load(kernel, place, row, to);
      const ends = kernel.allocate(4 * (to - row));
      const out = kernel.allocate(room);
      const written = kernel.write(place, 0, to - row, { out, bytes: room, cellBytes: column.fixedBytes, ends });
      let start = 0;
      for (let i = 0; i < written.row; i++) {
        const end = kernel.words[(ends >> 2) + i];
        keep(row + i, kernel.bytes.subarray(out + start, out + end));
        start = end;
      }
      return row + written.row;
    });
    if (next === row) room *= 4;
    row = next;
  }
}

function valueTooLong(): ServiceError {
  return new ServiceError('out_of_memory', 'A value of a dictionary can take more than 128 MiB.', {
    hint: 'Leave out the column with long values, or read the frame as Arrow.',
  });
}
