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
  const { fields } = source.schema;
  const { query, metadata = true } = options;
  const columns = fields.map((field) => ({ name: field.name, type: columnInfo(field).type }));
  const format: RowFormat = {
    name: 'JSON',
    head: Buffer.from(
      metadata ? `{"query":${JSON.stringify(query)},"columns":${JSON.stringify(columns)},"dataset":[` : '{"dataset":[',
    ),
    row: createRecordText(
      fields.map((_field, i) => (i === 0 ? '[' : ',')),
      fields.length === 0 ? '[],' : '],',
    ),
    cells: createCellOptions('json', options.quoteLargeNum),
    separatorBytes: 1,
    tail: (rows) => {
      const timings = options.timings ? `,"timings":${JSON.stringify(options.timings())}` : '';
      return Buffer.from(`],"count":${options.count?.() ?? rows}${timings}}`);
    },
  };
  return encodeRows(source, format, options);
}
