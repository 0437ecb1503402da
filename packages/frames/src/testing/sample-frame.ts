import { type Data, type DataType, Field, type RecordBatch, Schema } from 'apache-arrow';
import { createRecordBatch } from '../columns/create-record-batch.ts';
import { type FrameStream, streamOfBatches } from '../frame-stream.ts';
import type { BuildColumn } from './column-builders.ts';

/** A frame and what every format makes of it. */
export interface SampleFrame {
  /** What is special about it. */
  readonly name: string;
  readonly schema: Schema;
  readonly batches: readonly RecordBatch[];
  /** The type name of each column. */
  readonly types: readonly string[];
  /** The text of each cell of each row, in JSON and in CSV. */
  readonly rows: readonly { readonly json: readonly string[]; readonly csv: readonly string[] }[];
  /** What its rows become where they are read as JSON. */
  readonly reading: SampleReading;
}

/** What a frame becomes that is written as JSON rows and read again: JSON has fewer types, and no types without values. */
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

/** A cell of no value. */
export const NULL: SampleCell = { json: 'null', csv: '' };
/** A cell of the same text in both. */
export const bare = (text: string): SampleCell => ({ json: text, csv: text });
/** A cell of a text that only JSON has in quotes. */
export const text = (value: string): SampleCell => ({ json: `"${value}"`, csv: value });
/** A cell of two texts. */
export const both = (json: string, csv: string): SampleCell => ({ json, csv });

/** A column: its values, and the text of each. */
export interface SampleColumn {
  readonly field: Field;
  readonly type: string;
  readonly cells: readonly SampleCell[];
  /** The type it has where its JSON texts are read, and the text that such a text has then. */
  readonly readType: string;
  readonly readText: (json: string) => string;
  /** The column of all rows, or of these. */
  build(rows: number): Data;
  buildNulls(rows: number): Data;
}

interface FieldOptions {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly nullable?: boolean;
  /** Where its JSON texts are read as something else than `READ_TYPES` say. */
  readonly readType?: string;
  readonly readText?: (json: string) => string;
}

/** The types that columns have when their JSON texts are read; all others are read as STRING. */
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

/** A column of some values, each with its texts. */
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

/** The items over and over, up to this many. */
export function cycle<T>(items: readonly T[], length: number): T[] {
  return Array.from({ length }, (_, i) => items[i % items.length]);
}

/** A frame of one column. More rows than a byte has bits, and no multiple of them. */
export function frameOfColumn(name: string, column: SampleColumn, rows = 19): SampleFrame {
  return frameOfColumns(name, [column], rows);
}

/** A frame of columns side by side; those after the first are called `c1`, `c2` and so on. */
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

/** What rows are read as: without a row there is no column. */
export function readingOf(columns: SampleReading['columns'], rows: SampleReading['rows']): SampleReading {
  return { columns: rows.length === 0 ? [] : columns, rows };
}

/** A sample as what encoders take; with other batches, those. */
export function streamOfSample(sample: SampleFrame, batches = sample.batches): FrameStream {
  return streamOfBatches(sample.schema, batches);
}
