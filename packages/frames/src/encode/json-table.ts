import type { Field, Schema } from 'apache-arrow';
import { columnInfo } from '../column-types.ts';
import type { FrameStream } from '../frame-stream.ts';
import { createRecordText } from './columns/column.ts';
import { createCellOptions } from './columns/create-column.ts';
import { type ChunkOptions, encodeRows } from './encode-rows.ts';
import type { RowFormat } from './row-format.ts';

/** Options of a JSON table. */
export interface JsonTableOptions extends ChunkOptions {
  /** The value of the `query` key. */
  readonly query: string;
  /** Write LONG, ULONG and LONG128 as strings, for clients that read JSON numbers as doubles. Default false. */
  readonly quoteLargeNum?: boolean;
  /** Write `query` and `columns`. Default true. */
  readonly metadata?: boolean;
  /** Called after the last row; returns the value of the key `count`. Default: the number of rows in `dataset`. */
  readonly count?: () => number;
  /** Called after the last row; returns the value of the key `timings`. Default: no such key. */
  readonly timings?: () => Readonly<Record<string, number>>;
}

/**
 * Encodes a frame as one JSON object: `query`, `columns`, `dataset` (one array per row) and `count`, in chunks of 256
 * KiB, the first of 128 KiB. A frame without columns has an empty array for each row.
 */
export function encodeJsonTable(
  source: FrameStream,
  options: JsonTableOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { query, quoteLargeNum, metadata = true } = options;
  const { fields } = source.schema;
  const format = jsonTableFormat(fields, quoteLargeNum, {
    head: metadata ? jsonTableHead(source.schema, query) : JSON_TABLE_HEAD,
    tail: (rows) => {
      const timings = options.timings ? `,"timings":${JSON.stringify(options.timings())}` : '';
      return Buffer.from(`],"count":${options.count?.() ?? rows}${timings}}`);
    },
  });
  return encodeRows(source, format, options);
}

/** The text before the rows of a JSON table without metadata. */
export const JSON_TABLE_HEAD: Uint8Array = Buffer.from('{"dataset":[');

/** Returns the text before the rows of a JSON table with metadata. */
export function jsonTableHead(schema: Schema, query: string): Uint8Array {
  let columns = columnTexts.get(schema);
  if (columns === undefined) {
    columns = JSON.stringify(schema.fields.map((field) => ({ name: field.name, type: columnInfo(field).type })));
    columnTexts.set(schema, columns);
  }
  return Buffer.from(`{"query":${JSON.stringify(query)},"columns":${columns},"dataset":[`);
}

/** The columns of schemas as JSON: a frame in memory always has the same schema. */
const columnTexts = new WeakMap<Schema, string>();

/** Creates the format of the rows of a JSON table: each is an array with a comma after it. */
export function jsonTableFormat(
  fields: readonly Field[],
  quoteLargeNum: boolean | undefined,
  around: Pick<RowFormat, 'head' | 'tail'>,
): RowFormat {
  return {
    ...around,
    name: 'JSON',
    row: createRecordText(
      fields.map((_field, i) => (i === 0 ? '[' : ',')),
      fields.length === 0 ? '[],' : '],',
    ),
    cells: createCellOptions('json', quoteLargeNum),
    separatorBytes: 1,
  };
}
