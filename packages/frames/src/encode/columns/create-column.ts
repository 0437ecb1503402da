import { type Data, DataType, type Dictionary, Field, type RecordBatch, Type } from 'apache-arrow';
import { columnTypeName } from '../../column-types.ts';
import { offsetsOf, valuesOf } from '../../columns/arrow-data.ts';
import { ITEM_BYTES, KIND, KIND_LIST, STRIDE, VALUES_END } from '../kernel/kernel-layout.ts';
import {
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
} from './column.ts';
import { createDictionaryValues, type DictionaryValues } from './dictionary-values.ts';
import {
  booleanColumn,
  createTimeColumn,
  decimalColumn,
  floatColumn,
  integerColumn,
  nullColumn,
  timestampColumn,
  uuidColumn,
} from './plain-columns.ts';
import { createOffsets, createTextColumn, csvJsonColumn } from './text-columns.ts';

/** Options of cells. */
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
  if (DataType.isFloat(type)) return floatColumn(data, type, isCsv);
  if (DataType.isTimestamp(type)) return timestampColumn(data, type.unit, !isCsv);
  if (DataType.isDictionary(type)) return dictionaryColumn(data, type, field, options);
  if (DataType.isInt(type)) {
    const isLong = type.bitWidth === 64 || (type.bitWidth === 32 && !type.isSigned);
    const column = integerColumn(data, type);
    return isLong && options.quoteLargeNum ? quotedInJson(column) : column;
  }
  if (DataType.isDecimal(type)) {
    const column = decimalColumn(data, type);
    return columnTypeName(field) === 'LONG128' && !options.quoteLargeNum ? column : quotedInJson(column);
  }
  if (columnTypeName(field) === 'UUID') return quotedInJson(uuidColumn(data));
  const time = createTimeColumn(data, isCsv);
  if (time) return quotedInJson(time);
  const text = createTextColumn(data, isCsv);
  if (text) return columnTypeName(field) === 'BINARY' ? quotedInJson(text) : text;
  return nestedColumn(data, options);
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
