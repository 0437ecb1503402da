import {
  ThriftCursor,
  type ThriftField,
  thriftLong,
  thriftNumber,
  type ThriftStruct,
  thriftStruct,
  thriftStructs,
} from '../../wire/thrift-compact.ts';
import type { ColumnChunk, ParquetLayout } from '../../wire/file-layout.ts';

/** Field numbers in Parquet's Thrift definition. */
const FILE = { schema: 2, rowGroups: 4 };
const ELEMENT = { children: 5 };
const GROUP = { columns: 1, rows: 3 };
const CHUNK = { metadata: 3 };
const COLUMN = { values: 5, compressedBytes: 7, dataAt: 9, indexAt: 10, dictionaryAt: 11 };

/** Reads the layout of a file from its footer. */
export function layoutOf(footer: Uint8Array): ParquetLayout {
  const file = new ThriftCursor(footer).struct();
  const columns = columnsOfLeaves(thriftStructs(file.get(FILE.schema)));
  const groups = thriftStructs(file.get(FILE.rowGroups));
  const leaves = groups.flatMap((group, at) =>
    thriftStructs(group.get(GROUP.columns)).map((chunk, leaf) => chunkOf(chunk, at, columns[leaf] ?? -1)),
  );
  return {
    chunks: joined(leaves.filter(({ start, end }) => end > start).toSorted((a, b) => a.start - b.start)),
    groupRows: groups.map((group) => required(group.get(GROUP.rows))),
  };
}

/** Returns how many values a file declares, in all columns. DuckDB reads exactly as many. */
export function declaredValues(footer: Uint8Array): number {
  const groups = thriftStructs(new ThriftCursor(footer).struct().get(FILE.rowGroups));
  const counts = groups.flatMap((group) =>
    thriftStructs(group.get(GROUP.columns)).map((chunk) =>
      required(thriftStruct(chunk.get(CHUNK.metadata))?.get(COLUMN.values)),
    ),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Returns the top-level column of each leaf. The schema is a tree in depth-first order. */
function columnsOfLeaves([root, ...elements]: readonly ThriftStruct[]): number[] {
  const columns: number[] = [];
  let next = 0;
  function walk(column: number): void {
    const children = thriftNumber(elements[next++]?.get(ELEMENT.children)) ?? 0;
    if (children === 0) columns.push(column);
    for (let i = 0; i < children; i++) walk(column);
  }
  const count = thriftNumber(root?.get(ELEMENT.children)) ?? 0;
  for (let column = 0; column < count; column++) walk(column);
  return columns;
}

function chunkOf(chunk: ThriftStruct, group: number, column: number): ColumnChunk {
  const metadata = thriftStruct(chunk.get(CHUNK.metadata));
  const places = [COLUMN.dataAt, COLUMN.indexAt, COLUMN.dictionaryAt].map((field) => thriftLong(metadata?.get(field)));
  // No page is at the start of the file: an offset of 0 means none.
  const start = Math.min(...places.map((at) => at ?? 0).filter((at) => at > 0));
  return { start, end: start + required(metadata?.get(COLUMN.compressedBytes)), group, column };
}

function joined(leaves: readonly ColumnChunk[]): ColumnChunk[] {
  const chunks: ColumnChunk[] = [];
  for (const leaf of leaves) {
    const last = chunks.at(-1);
    const isNext = last?.end === leaf.start && last.group === leaf.group && last.column === leaf.column;
    if (isNext) chunks[chunks.length - 1] = { ...last, end: leaf.end };
    else chunks.push(leaf);
  }
  return chunks;
}

function required(field: ThriftField | undefined): number {
  const value = thriftLong(field);
  if (value === undefined) throw new TypeError('The footer lacks a number.');
  return value;
}
