import { type FileHandle, open } from 'node:fs/promises';
import { readFooter, writeFully } from './finish-file.ts';
import { layoutOf } from './parquet-layout.ts';
import { readSome } from './read-checksums.ts';
import { encodeParquetTail, PARQUET_MAGIC } from '../../wire/parquet-tail.ts';
import {
  encodeStruct,
  longField,
  structField,
  structsField,
  ThriftCursor,
  thriftLong,
  type ThriftStruct,
  thriftStruct,
  thriftStructs,
} from '../../wire/thrift-compact.ts';

/** Field numbers in Parquet's Thrift definition. */
const FILE = { schema: 2, rows: 3, rowGroups: 4 };
const GROUP = { columns: 1, rows: 3 };
const CHUNK = { metadata: 3 };
/**
 * The fields that are positions in the file: of the first page, of column and offset indexes, of pages and bloom
 * filters.
 */
const POSITIONS = { group: [5], chunk: [2, 4, 6], column: [9, 10, 11, 14] };

/** The row groups to append. */
export interface AppendedGroups {
  /** Files whose row groups take turns: the first of each file, then the second of each file … */
  readonly lanes: readonly string[];
  /** The rows of each group. The last of all may have fewer. */
  readonly groupRows: number;
}

/** Appends row groups, in their order, to a Parquet file with the same schema. None of the files has checksums yet. */
export async function appendRowGroups(path: string, { lanes, groupRows }: AppendedGroups): Promise<void> {
  const files: FileHandle[] = [];
  try {
    const file = await open(path, 'r+');
    files.push(file);
    const added: LaneFile[] = [];
    for (const lane of lanes) {
      const handle = await open(lane, 'r');
      files.push(handle);
      added.push(await openLane(handle));
    }
    await appendLanes(file, added, groupRows);
  } finally {
    for (const file of files) await file.close();
  }
}

async function appendLanes(file: FileHandle, lanes: readonly LaneFile[], groupRows: number): Promise<void> {
  const old = await footerIn(file);
  const fields = new ThriftCursor(old.footer).struct();
  for (const lane of lanes) {
    if (!isSame(fields.get(FILE.schema)?.bytes, lane.fields.get(FILE.schema)?.bytes)) {
      throw new Error('The schemas of the files differ.');
    }
  }
  let end = old.at;
  for (const range of inTurn(lanes.map(({ ranges }) => ranges))) {
    range.shift = end - range.start;
    await copyBytes(range.file, range, file, end);
    end += range.end - range.start;
  }
  const groups = inTurn(lanes.map(movedGroups));
  const rows = groups.map((group) => thriftLong(group.get(GROUP.rows)) ?? NaN);
  if (!rows.every((count, i) => count === groupRows || (i === rows.length - 1 && count < groupRows))) {
    throw new Error('The row groups are not in the order of their rows.');
  }
  // This also overwrites all of the old footer, which is shorter than the new one.
  await writeFully(file, extendedFooter(fields, groups, sumOf(rows)), end);
}

/** A file with row groups to append. */
interface LaneFile {
  readonly fields: ThriftStruct;
  /** The bytes of each row group, then the rest up to the footer. */
  readonly ranges: readonly MovedRange[];
}

/** Bytes that are copied to another file, and how much further on they are there. */
interface MovedRange {
  readonly file: FileHandle;
  readonly start: number;
  readonly end: number;
  shift: number;
}

async function openLane(file: FileHandle): Promise<LaneFile> {
  const { footer, at } = await footerIn(file);
  const { chunks, groupRows } = layoutOf(footer);
  const ends = groupRows.map(() => 0);
  for (const { group, end } of chunks) ends[group] = Math.max(ends[group] ?? 0, end);
  let start = PARQUET_MAGIC.length;
  const ranges = [...ends, at].map((end) => {
    const range = { file, start, end, shift: 0 };
    start = end;
    return range;
  });
  return { fields: new ThriftCursor(footer).struct(), ranges };
}

/** Returns the items of lanes that take turns, in their order. */
function inTurn<Item>(lanes: readonly (readonly Item[])[]): readonly Item[] {
  const longest = Math.max(...lanes.map(({ length }) => length));
  return Array.from({ length: longest }, (_, turn) => lanes.flatMap((lane) => lane.slice(turn, turn + 1))).flat();
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** Encodes the footer of a file to which row groups were added, and the end of the file after it. */
function extendedFooter(fields: ThriftStruct, groups: readonly ThriftStruct[], rows: number): Buffer {
  const all = [...thriftStructs(fields.get(FILE.rowGroups)), ...groups].map(encodeStruct);
  const total = (thriftLong(fields.get(FILE.rows)) ?? NaN) + rows;
  const bytes = encodeStruct(new Map([...fields, [FILE.rows, longField(total)], [FILE.rowGroups, structsField(all)]]));
  return Buffer.concat([bytes, encodeParquetTail(bytes.length)]);
}

async function footerIn(file: FileHandle): Promise<{ readonly footer: Buffer; readonly at: number }> {
  return readFooter(file.fd, (await file.stat()).size);
}

const COPY_BYTES = 1024 * 1024;

async function copyBytes(
  from: FileHandle,
  { start, end }: { readonly start: number; readonly end: number },
  to: FileHandle,
  at: number,
): Promise<void> {
  const buffer = Buffer.allocUnsafe(Math.min(COPY_BYTES, end - start));
  for (let done = 0; done < end - start;) {
    const length = readSome(from.fd, buffer, start + done, end - start - done);
    await writeFully(to, buffer.subarray(0, length), at + done);
    done += length;
  }
}

function isSame(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a !== undefined && b !== undefined && Buffer.compare(a, b) === 0;
}

/** The row groups of a lane, with the positions of their bytes in the other file. */
function movedGroups({ fields, ranges }: LaneFile): readonly ThriftStruct[] {
  const rest = ranges.at(-1)?.shift ?? NaN;
  return thriftStructs(fields.get(FILE.rowGroups)).map((group, i) => {
    const { end = 0, shift = NaN } = ranges[i] ?? {};
    // What is not among the bytes of its group is behind those of all groups, such as a Bloom filter.
    return movedGroup(group, (position) => position + (position < end ? shift : rest));
  });
}

type Move = (position: number) => number;

function movedGroup(group: ThriftStruct, move: Move): ThriftStruct {
  const columns = thriftStructs(group.get(GROUP.columns)).map((chunk) => encodeStruct(movedChunk(chunk, move)));
  return new Map([...movedFields(group, POSITIONS.group, move), [GROUP.columns, structsField(columns)]]);
}

function movedChunk(chunk: ThriftStruct, move: Move): ThriftStruct {
  const column = thriftStruct(chunk.get(CHUNK.metadata)) ?? new Map();
  const metadata = structField(movedFields(column, POSITIONS.column, move));
  return new Map([...movedFields(chunk, POSITIONS.chunk, move), [CHUNK.metadata, metadata]]);
}

function movedFields(fields: ThriftStruct, positions: readonly number[], move: Move): ThriftStruct {
  const moved = new Map(fields);
  for (const id of positions) {
    const position = thriftLong(fields.get(id)) ?? 0;
    // No page is at the start of the file: a position of 0 means that there is none.
    if (position > 0) moved.set(id, longField(move(position)));
  }
  return moved;
}
