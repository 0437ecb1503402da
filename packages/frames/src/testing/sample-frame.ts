import { type Data, type DataType, Field, type RecordBatch, Schema } from 'apache-arrow';
import { createRecordBatch } from '../columns/record-batch.ts';
import { type FrameStream, streamOfBatches } from '../streams.ts';
import type { BuildColumn } from './column-builders.ts';

/** A frame and its expected text in every format. */
export interface SampleFrame {
  /** What the sample tests. */
  readonly name: string;
  readonly schema: Schema;
  readonly batches: readonly RecordBatch[];
  /** The type name of each column. */
  readonly types: readonly string[];
  /** The text of each cell of each row, in JSON and in CSV. */
  readonly rows: readonly { readonly json: readonly string[]; readonly csv: readonly string[] }[];
  /** The rows when read from JSON. */
  readonly reading: SampleReading;
}

/** A frame after a round trip through JSON rows: JSON has fewer types, and no type without values. */
export interface SampleReading {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** The text of each cell of each row in JSON. */
  readonly rows: readonly (readonly string[])[];
}

/** The text of a cell. */
export interface SampleCell {
  readonly json: string;
  readonly csv: string;
}

/** A null cell. */
export const NULL: SampleCell = { json: 'null', csv: '' };
/** A cell with the same text in both. */
export const bare = (text: string): SampleCell => ({ json: text, csv: text });
/** A cell that has quotes only in JSON. */
export const text = (value: string): SampleCell => ({ json: `"${value}"`, csv: value });
/** A cell with two texts. */
export const both = (json: string, csv: string): SampleCell => ({ json, csv });

/** A column: its values, and the text of each. */
export interface SampleColumn {
  readonly field: Field;
  readonly type: string;
  readonly cells: readonly SampleCell[];
  /** The column type when its JSON texts are read, and the text of a cell then. */
  readonly readType: string;
  readonly readText: (json: string) => string;
  /** Builds the column with all rows, or with this many. */
  build(rows: number): Data;
  buildNulls(rows: number): Data;
}

interface FieldOptions {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly nullable?: boolean;
  /** The type when its JSON texts are read, if it differs from `READ_TYPES`. */
  readonly readType?: string;
  readonly readText?: (json: string) => string;
}

/** The types of columns when their JSON texts are read; all others are STRING. */
const READ_TYPES: Readonly<Record<string, string>> = {
  BOOLEAN: 'BOOLEAN',
  BYTE: 'LONG',
  SHORT: 'LONG',
  INT: 'LONG',
  LONG: 'LONG',
  ULONG: 'ULONG',
  FLOAT: 'DOUBLE',
  DOUBLE: 'DOUBLE',
  ARRAY: 'ARRAY',
  MAP: 'ARRAY',
  STRUCT: 'STRUCT',
};

/** Creates a column from values and their texts. */
export function sampleColumn<V>(
  type: string,
  arrowType: DataType,
  build: BuildColumn<V>,
  values: readonly (readonly [V | null, SampleCell])[],
  {
    metadata = {},
    nullable = true,
    readType = READ_TYPES[type] ?? 'STRING',
    readText = (json) => json,
  }: FieldOptions = {},
): SampleColumn {
  return {
    field: new Field('c', arrowType, nullable, new Map(Object.entries(metadata))),
    type,
    cells: values.map(([, cell]) => cell),
    readType,
    readText,
    build: (rows) =>
      build(
        arrowType,
        cycle(values, rows).map(([value]) => value),
      ),
    buildNulls: (rows) => build(arrowType, Array<null>(rows).fill(null)),
  };
}

/** Repeats the items up to `length`. */
export function cycle<T>(items: readonly T[], length: number): T[] {
  return Array.from({ length }, (_, i) => items[i % items.length]);
}

/** Creates a frame with one column. More rows than bits in a byte, and not a multiple. */
export function frameOfColumn(name: string, column: SampleColumn, rows = 19): SampleFrame {
  return frameOfColumns(name, [column], rows);
}

/** Creates a frame with several columns; those after the first are named `c1`, `c2` and so on. */
export function frameOfColumns(name: string, columns: readonly SampleColumn[], rows: number): SampleFrame {
  const fields = columns.map(({ field }, i) => (i === 0 ? field : field.clone({ name: `c${i}` })));
  const schema = new Schema(fields);
  const cells = columns.map((column) => cycle(column.cells, rows));
  return {
    name,
    schema,
    reading: readingOf(
      columns.map(({ readType }, i) => ({ name: fields[i].name, type: readType })),
      Array.from({ length: rows }, (_, row) => columns.map(({ readText }, i) => readText(cells[i][row].json))),
    ),
    batches: [
      createRecordBatch(
        schema,
        rows,
        columns.map((column) => column.build(rows)),
      ),
    ],
    types: columns.map((column) => column.type),
    rows: Array.from({ length: rows }, (_, row) => ({
      json: cells.map((column) => column[row].json),
      csv: cells.map((column) => column[row].csv),
    })),
  };
}

/** Creates a reading: without rows there are no columns. */
export function readingOf(columns: SampleReading['columns'], rows: SampleReading['rows']): SampleReading {
  return { columns: rows.length === 0 ? [] : columns, rows };
}

/** The sample as a stream, optionally with other batches. */
export function streamOfSample(sample: SampleFrame, batches = sample.batches): FrameStream {
  return streamOfBatches(sample.schema, batches);
}
