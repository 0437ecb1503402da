import { type Data, DataType, type Field } from 'apache-arrow';
import { type ColumnWriter, MAX_ROW_BYTES, totalBytes } from './cell-writer.ts';
import { offsetNumbers } from './text-columns.ts';
import { createObjectWriter } from './object-writer.ts';

type CreateColumn = (data: Data, field: Field) => ColumnWriter;

/** The writer of a column of lists, structs or maps as JSON; undefined where it is none. */
export function createNestedColumn(data: Data, createColumn: CreateColumn): ColumnWriter | undefined {
  const { type } = data;
  if (DataType.isStruct(type)) {
    const fields: readonly Field[] = type.children;
    const columns = fields.map((field, i) => createColumn(data.children[i], field));
    return createObjectWriter(
      fields.map((field) => field.name),
      columns,
    );
  }
  if (DataType.isList(type) || DataType.isLargeList(type)) {
    return listColumn(data, createColumn(data.children[0], type.children[0]));
  }
  if (DataType.isMap(type)) {
    const entries = data.children[0];
    const [key, value]: readonly Field[] = entries.type.children;
    return listColumn(
      data,
      pairColumn(createColumn(entries.children[0], key), createColumn(entries.children[1], value)),
    );
  }
  if (DataType.isFixedSizeList(type)) {
    const size = type.listSize;
    return rangeColumn(
      createColumn(data.children[0], type.children[0]),
      (row) => row * size,
      (row) => (row + 1) * size,
    );
  }
  return undefined;
}

function listColumn(data: Data, element: ColumnWriter): ColumnWriter {
  const offsets = offsetNumbers(data.valueOffsets);
  return rangeColumn(
    element,
    (row) => offsets[row],
    (row) => offsets[row + 1],
  );
}

/** Lists: the elements from `start` to `end` of the child column. */
function rangeColumn(
  element: ColumnWriter,
  start: (row: number) => number,
  end: (row: number) => number,
): ColumnWriter {
  const { write, fixedBytes, variableBytes } = element;
  return {
    write: (out, at, row) => {
      let to = at;
      out[to++] = 91;
      const last = end(row);
      for (let i = start(row); i < last; i++) {
        to = write(out, to, i);
        out[to++] = 44;
      }
      if (out[to - 1] === 44) to--;
      out[to++] = 93;
      return to;
    },
    fixedBytes: 2,
    variableBytes: (row) => {
      const first = start(row);
      const last = end(row);
      let bytes = (last - first) * (fixedBytes + 1);
      // Beyond the limit the row is refused, so there is no need to know by how much.
      if (variableBytes) for (let i = first; i < last && bytes <= MAX_ROW_BYTES; i++) bytes += variableBytes(i);
      return bytes;
    },
  };
}

/** The entries of a map, `[key,value]` each. */
function pairColumn(key: ColumnWriter, value: ColumnWriter): ColumnWriter {
  return {
    write: (out, at, row) => {
      out[at] = 91;
      let to = key.write(out, at + 1, row);
      out[to] = 44;
      to = value.write(out, to + 1, row);
      out[to] = 93;
      return to + 1;
    },
    ...totalBytes([key, value], 3),
  };
}

/** Nested values as fields of CSV: their JSON text, in quotes where it needs them. */
export function createCsvNested(column: ColumnWriter): ColumnWriter {
  const { write, fixedBytes, variableBytes } = column;
  return {
    write: (out, at, row) => quoteField(out, at, write(out, at, row)),
    fixedBytes: 2 * fixedBytes + 2,
    ...(variableBytes && { variableBytes: (row: number) => 2 * variableBytes(row) }),
  };
}

/** Quotes the field from `start` to `end` where it has a comma or a quote; JSON text has no line breaks. */
function quoteField(out: Uint8Array, start: number, end: number): number {
  let quotes = 0;
  let commas = 0;
  for (let i = start; i < end; i++) {
    if (out[i] === 34) quotes++;
    else if (out[i] === 44) commas++;
  }
  if (quotes + commas === 0) return end;
  // From the end, so that no byte is overwritten before it has moved.
  let to = end + quotes + 1;
  out[to] = 34;
  for (let i = end - 1; i >= start; i--) {
    out[--to] = out[i];
    if (out[i] === 34) out[--to] = 34;
  }
  out[start] = 34;
  return end + quotes + 2;
}
