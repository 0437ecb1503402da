import { type ColumnWriter, totalBytes, writeBytes } from './cell-writer.ts';

const ENCODER = new TextEncoder();

/** Writes the values of several columns as one JSON object: a row, or a struct. */
export function createObjectWriter(names: readonly string[], columns: readonly ColumnWriter[]): ColumnWriter {
  const keys = names.map((name, i) => ENCODER.encode(`${i === 0 ? '' : ','}${JSON.stringify(name)}:`));
  const writers = columns.map((column) => column.write);
  const keyBytes = keys.reduce((bytes, key) => bytes + key.length, 2);
  return {
    write: (out, at, row) => {
      let to = at;
      out[to++] = 123;
      for (let i = 0; i < writers.length; i++) to = writers[i](out, writeBytes(out, to, keys[i]), row);
      out[to++] = 125;
      return to;
    },
    ...totalBytes(columns, keyBytes),
  };
}
