import { type Data, DataType, type Field } from 'apache-arrow';
import { offsetsOf } from '../../columns/arrow-data.ts';
import {
  cellPieces,
  type Column,
  COMMA,
  createObjectText,
  createRecordText,
  loadChild,
  outOfBounds,
  type Pieces,
  type PieceWriter,
  recordColumn,
  setField,
} from './column.ts';
import { ITEM_BYTES, KIND, KIND_LIST, STRIDE, VALUES_END } from '../kernel/kernel-layout.ts';
import { createOffsets } from './text-columns.ts';

type CreateColumn = (data: Data, field: Field) => Column;

/** Creates a column of lists, structs or maps as JSON; undefined for other types. */
export function createNestedColumn(data: Data, createColumn: CreateColumn): Column | undefined {
  const { type } = data;
  if (DataType.isStruct(type)) {
    const fields: readonly Field[] = type.children;
    const names = fields.map((field) => field.name);
    return recordColumn(
      fields.map((field, i) => createColumn(data.children[i], field)),
      createObjectText(names, '}'),
    );
  }
  if (DataType.isList(type) || DataType.isLargeList(type)) {
    return listColumn(data, createColumn(data.children[0], type.children[0]));
  }
  if (DataType.isMap(type)) {
    const entries = data.children[0];
    const fields: readonly Field[] = entries.type.children;
    const pair = fields.map((field, i) => createColumn(entries.children[i], field));
    return listColumn(data, recordColumn(pair, PAIR_TEXT));
  }
  if (DataType.isFixedSizeList(type)) {
    return fixedListColumn(type.listSize, createColumn(data.children[0], type.children[0]));
  }
  return undefined;
}

const PAIR_TEXT = createRecordText(['[', ','], ']');
const BRACKET_BYTES = 2;
const ITEM_TEXT = createRecordText([''], ',');
const OPEN = Buffer.from('[');
const CLOSE = Buffer.from(']');

/** Writes a long list: as many items at a time as there is space for. */
function* listPieces(item: Column, from: number, to: number, writer: PieceWriter): Pieces {
  if (from > to) throw outOfBounds();
  const items = writer.open(recordColumn([item], ITEM_TEXT), from, to);
  yield OPEN;
  while (items.row < to) {
    const written = items.writeUpTo(to);
    if (written !== undefined) {
      yield items.row < to ? written.bytes : written.bytes.subarray(0, -1);
    } else {
      yield* cellPieces(item, items.row, writer);
      items.skip();
      if (items.row < to) yield COMMA;
    }
  }
  yield CLOSE;
}

function listColumn(data: Data, item: Column): Column {
  const offsets = createOffsets(offsetsOf(data));
  const itemEnd = (from: number, to: number): number => Math.max(offsets.at(from), offsets.at(to));
  return {
    fixedBytes: BRACKET_BYTES,
    loadedBytes: (from, to) => offsets.width * (to - from) + item.loadedBytes(offsets.at(from), itemEnd(from, to)),
    load: (kernel, place, from, to) => {
      const first = offsets.at(from);
      const end = itemEnd(from, to);
      offsets.load(kernel, place, from, to);
      setField(kernel, place, KIND, KIND_LIST);
      setField(kernel, place, ITEM_BYTES, item.fixedBytes);
      setField(kernel, place, VALUES_END, end - first);
      loadChild(kernel, place, item, first, end);
    },
    pieces: (row, writer) => listPieces(item, offsets.at(row), offsets.at(row + 1), writer),
  };
}

function fixedListColumn(size: number, item: Column): Column {
  return {
    fixedBytes: BRACKET_BYTES,
    loadedBytes: (from, to) => to - from + item.loadedBytes(size * from, size * to),
    load: (kernel, place, from, to) => {
      setField(kernel, place, KIND, KIND_LIST);
      setField(kernel, place, STRIDE, size);
      setField(kernel, place, ITEM_BYTES, item.fixedBytes);
      setField(kernel, place, VALUES_END, size * (to - from));
      loadChild(kernel, place, item, size * from, size * to);
    },
    pieces: (row, writer) => listPieces(item, size * row, size * (row + 1), writer),
  };
}
