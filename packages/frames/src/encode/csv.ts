import { columnInfo } from '../column-types.ts';
import type { FrameStream } from '../frame-stream.ts';
import { createRecordText } from './columns/column.ts';
import { createCellOptions } from './columns/create-column.ts';
import { type ChunkOptions, encodeRows } from './encode-rows.ts';
import type { RowFormat } from './row-format.ts';

/** Options of `encodeCsv`. */
export interface CsvEncodeOptions extends ChunkOptions {
  /** Write the header row. Default true. */
  readonly header?: boolean;
}

/**
 * Encodes a frame as CSV (RFC 4180): a header row, lines that end with CR LF, and a field in quotes only if it contains
 * a comma, a quote or a line break. An empty field is null, `""` is the empty text, a date has no time, and nested
 * values are JSON. A frame without rows is only its header; one without columns has no bytes, whatever its rows.
 */
export function encodeCsv(
  source: FrameStream,
  options: CsvEncodeOptions = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  const { fields } = source.schema;
  const { header = true } = options;
  const names = fields.map((field) => columnInfo(field).name);
  const format: RowFormat = {
    name: 'CSV',
    head: names.length === 0 || !header ? NOTHING : Buffer.from(`${names.map(headerField).join(',')}\r\n`),
    row: createRecordText(
      fields.map((_field, i) => (i === 0 ? '' : ',')),
      fields.length === 0 ? '' : '\r\n',
    ),
    cells: createCellOptions('csv'),
    separatorBytes: 0,
    tail: () => NOTHING,
  };
  return encodeRows(source, format, options);
}

const NOTHING = new Uint8Array(0);

function headerField(name: string): string {
  return name === '' || /[",\r\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
}
