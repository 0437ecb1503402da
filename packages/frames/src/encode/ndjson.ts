import type { RecordBatch } from 'apache-arrow';
import type { FrameStream } from '../frame-stream.ts';
import type { ColumnWriter } from './cell-writer.ts';
import { createColumnWriters, createJsonCells } from './column-writer.ts';
import { type ChunkOptions, encodeRows } from './encode-rows.ts';
import { createObjectWriter } from './object-writer.ts';

/** How values are written as NDJSON. */
export interface NdjsonOptions extends ChunkOptions {
  /** LONG, ULONG and LONG128 as strings, for clients that read JSON numbers as doubles. Default false. */
  readonly quoteLargeNum?: boolean;
}

/**
 * Writes a frame as NDJSON: one object a row, with the values of the JSON table, a line feed behind each. A frame
 * without rows is no bytes at all; one without columns has `{}` for each row.
 */
export async function* encodeNdjson(
  source: FrameStream,
  options: NdjsonOptions = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  const { fields } = source.schema;
  const names = fields.map((field) => field.name);
  const cells = createJsonCells(options);
  yield* encodeRows(
    source,
    {
      name: 'NDJSON',
      head: NOTHING,
      createRowWriter: (batch: RecordBatch) =>
        createLineWriter(createObjectWriter(names, createColumnWriters(batch, fields, cells))),
      separatorBytes: 0,
      tail: () => NOTHING,
    },
    options,
  );
}

const NOTHING = new Uint8Array(0);

function createLineWriter(object: ColumnWriter): ColumnWriter {
  const { write, fixedBytes } = object;
  return {
    ...object,
    write: (out, at, row) => {
      const to = write(out, at, row);
      out[to] = 10;
      return to + 1;
    },
    fixedBytes: fixedBytes + 1,
  };
}
