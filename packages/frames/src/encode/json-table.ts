import type { RecordBatch } from 'apache-arrow';
import { columnInfo } from '../column-types.ts';
import type { FrameStream } from '../frame-stream.ts';
import { type CellWriter, type ColumnWriter, totalBytes } from './cell-writer.ts';
import { createColumnWriters, createJsonCells } from './column-writer.ts';
import { type ChunkOptions, encodeRows } from './encode-rows.ts';

/** What a JSON table says beside its rows, and how. */
export interface JsonTableOptions extends ChunkOptions {
  /** The text of the `query` key. */
  readonly query: string;
  /** LONG, ULONG and LONG128 as strings, for clients that read JSON numbers as doubles. Default false. */
  readonly quoteLargeNum?: boolean;
  /** Called behind the last row; what it returns stands under the key `timings`. Default: no such key. */
  readonly timings?: () => Readonly<Record<string, number>>;
}

/**
 * Writes a frame as one JSON object: `query`, `columns`, `dataset` (one array a row) and `count`, in chunks of 256 KiB,
 * the first of 128 KiB. A frame without columns has an empty array for each row.
 */
export async function* encodeJsonTable(
  source: FrameStream,
  options: JsonTableOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { fields } = source.schema;
  const columns = fields.map((field) => ({ name: field.name, type: columnInfo(field).type }));
  const cells = createJsonCells(options);
  yield* encodeRows(
    source,
    {
      name: 'JSON',
      head: ENCODER.encode(
        `{"query":${JSON.stringify(options.query)},"columns":${JSON.stringify(columns)},"dataset":[`,
      ),
      createRowWriter: (batch: RecordBatch) => arrayRows(createColumnWriters(batch, fields, cells)),
      separatorBytes: 1,
      tail: (rows) => {
        const timings = options.timings ? `,"timings":${JSON.stringify(options.timings())}` : '';
        return ENCODER.encode(`],"count":${rows}${timings}}`);
      },
    },
    options,
  );
}

const ENCODER = new TextEncoder();

/** Rows as arrays, each with a comma behind it. */
function arrayRows(columns: readonly ColumnWriter[]): ColumnWriter {
  const writers = columns.map((column) => column.write);
  return { write: (out, at, row) => writeArray(out, at, row, writers), ...totalBytes(columns, columns.length + 3) };
}

function writeArray(out: Uint8Array, at: number, row: number, writers: readonly CellWriter[]): number {
  let to = at;
  out[to++] = 91;
  for (let i = 0; i < writers.length; i++) {
    to = writers[i](out, to, row);
    out[to++] = 44;
  }
  if (writers.length > 0) to--;
  out[to] = 93;
  out[to + 1] = 44;
  return to + 2;
}
