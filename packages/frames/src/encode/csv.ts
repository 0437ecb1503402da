import type { RecordBatch } from 'apache-arrow';
import { columnInfo } from '../column-types.ts';
import type { FrameStream } from '../frame-stream.ts';
import { type CellWriter, type ColumnWriter, totalBytes } from './cell-writer.ts';
import { createColumnWriters, createCsvCells } from './column-writer.ts';
import { type ChunkOptions, encodeRows } from './encode-rows.ts';

/** How a frame is written as CSV. */
export type CsvOptions = ChunkOptions;

/**
 * Writes a frame as CSV (RFC 4180): a header row, lines that end with CR LF, a field in quotes only where it holds a
 * comma, a quote or a line break. Nothing between two commas is null, `""` is the empty text, and nested values are JSON.
 * A frame without rows is its header; one without columns is no bytes at all, whatever its rows.
 */
export async function* encodeCsv(
  source: FrameStream,
  options: CsvOptions = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  const { fields } = source.schema;
  const names = fields.map((field) => columnInfo(field).name);
  const cells = createCsvCells();
  yield* encodeRows(
    source,
    {
      name: 'CSV',
      head: names.length === 0 ? NOTHING : ENCODER.encode(`${names.map(headerField).join(',')}\r\n`),
      createRowWriter: (batch: RecordBatch) => lines(createColumnWriters(batch, fields, cells)),
      separatorBytes: 0,
      tail: () => NOTHING,
    },
    options,
  );
}

const ENCODER = new TextEncoder();
const NOTHING = new Uint8Array(0);

function headerField(name: string): string {
  return name === '' || /[",\r\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
}

function lines(columns: readonly ColumnWriter[]): ColumnWriter {
  if (columns.length === 0) return { write: (_out, at) => at, fixedBytes: 0 };
  const writers = columns.map((column) => column.write);
  return { write: (out, at, row) => writeLine(out, at, row, writers), ...totalBytes(columns, columns.length + 1) };
}

function writeLine(out: Uint8Array, at: number, row: number, writers: readonly CellWriter[]): number {
  let to = at;
  for (let i = 0; i < writers.length; i++) {
    to = writers[i](out, to, row);
    out[to++] = 44;
  }
  out[to - 1] = 13;
  out[to] = 10;
  return to + 1;
}
