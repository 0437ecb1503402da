import { type Data, DataType, Field, type Dictionary, type RecordBatch, Type } from 'apache-arrow';
import type { CellOptions, CsvCells, JsonCells } from './cell-options.ts';
import { type ColumnWriter, NULL_BYTES, writeBytes, writeNull } from './cell-writer.ts';
import { createDictionaryValues } from './dictionary-values.ts';
import { decimalColumn } from './decimal-column.ts';
import { createCsvNested, createNestedColumn } from './nested-columns.ts';
import { booleanColumn, floatColumn, integerColumn } from './number-columns.ts';
import { createTextColumn } from './text-columns.ts';
import { createTimeColumn } from './time-columns.ts';

/** How the values of one JSON answer are written. */
export function createJsonCells({ quoteLargeNum = false }: { readonly quoteLargeNum?: boolean } = {}): JsonCells {
  return { syntax: 'json', quoteLargeNum, dictionaries: new Map() };
}

/** How the values of one CSV answer are written. */
export function createCsvCells(): CsvCells {
  return { syntax: 'csv', dictionaries: new Map(), nested: createJsonCells() };
}

/** The writers of the columns of a batch. */
export function createColumnWriters(
  batch: RecordBatch,
  fields: readonly Field[],
  options: CellOptions,
): readonly ColumnWriter[] {
  return fields.map((field, i) => createColumnWriter(batch.data.children[i], field, options));
}

/** The writer of one column of a batch. The type is looked at here, once, and not again for each cell. */
function createColumnWriter(data: Data, field: Field, options: CellOptions): ColumnWriter {
  const column = createValueWriter(data, field, options);
  if (data.typeId === Type.Null || data.nullCount === 0) return column;
  const { write, variableBytes } = column;
  const bitmap: Uint8Array = data.nullBitmap;
  const { offset } = data;
  const isValid = (row: number): boolean => ((bitmap[(offset + row) >> 3] >> ((offset + row) & 7)) & 1) === 1;
  return {
    write:
      options.syntax === 'json'
        ? (out, at, row) => (isValid(row) ? write(out, at, row) : writeNull(out, at))
        : (out, at, row) => (isValid(row) ? write(out, at, row) : at),
    fixedBytes: Math.max(column.fixedBytes, NULL_BYTES),
    ...(variableBytes && { variableBytes: (row: number) => (isValid(row) ? variableBytes(row) : 0) }),
  };
}

function createValueWriter(data: Data, field: Field, options: CellOptions): ColumnWriter {
  const { type } = data;
  if (DataType.isInt(type)) return integerColumn(data, type, options);
  if (DataType.isFloat(type)) return floatColumn(data, type, options);
  if (DataType.isBool(type)) return booleanColumn(data);
  if (DataType.isDecimal(type)) return decimalColumn(data, field, type, options);
  if (DataType.isDictionary(type)) return dictionaryColumn(data, type, options);
  if (DataType.isNull(type)) return nullColumn(options);
  const plain = createTimeColumn(data, options) ?? createTextColumn(data, field, options);
  return plain ?? nestedColumn(data, options);
}

function nullColumn({ syntax }: CellOptions): ColumnWriter {
  return syntax === 'json' ? { write: writeNull, fixedBytes: NULL_BYTES } : { write: (_out, at) => at, fixedBytes: 0 };
}

function nestedColumn(data: Data, options: CellOptions): ColumnWriter {
  const inner = options.syntax === 'csv' ? options.nested : options;
  const column = createNestedColumn(data, (child, field) => createColumnWriter(child, field, inner));
  if (column === undefined) throw new TypeError(`No column writer for the Arrow type ${Type[data.typeId]}.`);
  return options.syntax === 'csv' ? createCsvNested(column) : column;
}

function dictionaryColumn(data: Data, type: Dictionary, options: CellOptions): ColumnWriter {
  const { dictionary, values: indices } = data;
  const known = options.dictionaries.get(type.id);
  const field = new Field('', type.dictionary, true);
  const values =
    known !== undefined && known.dictionary === dictionary
      ? known
      : createDictionaryValues(dictionary, (part) => createColumnWriter(part, field, options));
  options.dictionaries.set(type.id, values);
  return {
    write: (out, at, row) => writeBytes(out, at, values.at(Number(indices[row]))),
    fixedBytes: 0,
    variableBytes: (row) => values.at(Number(indices[row])).length,
  };
}
