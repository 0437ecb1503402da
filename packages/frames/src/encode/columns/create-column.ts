import { type Data, DataType, type Dictionary, Field, type RecordBatch, Type } from 'apache-arrow';
import { valuesOf } from '../../columns/arrow-data.ts';
import { columnTypeName } from '../../column-types.ts';
import { type Column, nullableColumn, quotedColumn } from './column.ts';
import { createDictionaryValues, type DictionaryValues } from './dictionary-values.ts';
import { createNestedColumn } from './nested-columns.ts';
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
import { createTextColumn, csvJsonColumn } from './text-columns.ts';

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
