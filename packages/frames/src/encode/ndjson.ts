import type { FrameStream } from '../frame-stream.ts';
import { createObjectText } from './columns/column.ts';
import { createCellOptions } from './columns/create-column.ts';
import { type ChunkOptions, encodeRows } from './encode-rows.ts';
import type { RowFormat } from './row-format.ts';

/** Options of NDJSON. */
export interface NdjsonOptions extends ChunkOptions {
  /** Write LONG, ULONG and LONG128 as strings, for clients that read JSON numbers as doubles. Default false. */
  readonly quoteLargeNum?: boolean;
}

/**
 * Encodes a frame as NDJSON: one object per row, with the values of the JSON table, each followed by a line feed. A
 * frame without rows has no bytes; one without columns has `{}` for each row.
 */
export function encodeNdjson(
  source: FrameStream,
  options: NdjsonOptions = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  const { fields } = source.schema;
  const names = fields.map((field) => field.name);
  const format: RowFormat = {
    name: 'NDJSON',
    head: NOTHING,
    row: createObjectText(names, '}\n'),
    cells: createCellOptions('json', options.quoteLargeNum),
    separatorBytes: 0,
    tail: () => NOTHING,
  };
  return encodeRows(source, format, options);
}

const NOTHING = new Uint8Array(0);
