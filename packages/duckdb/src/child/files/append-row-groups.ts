import { type FileHandle, open } from 'node:fs/promises';
import { readFooter, writeFully } from './finish-file.ts';
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
const GROUP = { columns: 1 };
const CHUNK = { metadata: 3 };
/**
 * The fields that are positions in the file: of the first page, of column and offset indexes, of pages and bloom
 * filters.
 */
const POSITIONS = { group: [5], chunk: [2, 4, 6], column: [9, 10, 11, 14] };

/** Appends the row groups of one Parquet file to another with the same schema. Neither has checksums yet. */
export async function appendRowGroups(path: string, tailPath: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    const tail = await open(tailPath, 'r');
    try {
      await appendTail(file, tail);
    } finally {
      await tail.close();
    }
  } finally {
    await file.close();
  }
}

async function appendTail(file: FileHandle, tail: FileHandle): Promise<void> {
  const [old, added] = await Promise.all([file, tail].map(footerIn));
  if (old === undefined || added === undefined) throw new Error('A footer was not read.');
  const start = PARQUET_MAGIC.length;
  const footer = joinFooters(old.footer, added.footer, old.at - start);
  await copyBytes(tail, { start, end: added.at }, file, old.at);
  // This also overwrites all of the old footer, which is shorter than the new one.
  await writeFully(file, footer, old.at + added.at - start);
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

/** Returns the footer of both files, for row groups of the second that are `shift` bytes further on. */
function joinFooters(footer: Uint8Array, added: Uint8Array, shift: number): Buffer {
  const [file, tail] = [footer, added].map((bytes) => new ThriftCursor(bytes).struct());
  if (!file || !tail || !isSame(file.get(FILE.schema)?.bytes, tail.get(FILE.schema)?.bytes)) {
    throw new Error('The schemas of the files differ.');
  }
  const rows = [file, tail].reduce((sum, fields) => sum + (thriftLong(fields.get(FILE.rows)) ?? NaN), 0);
  const groups = [
    ...thriftStructs(file.get(FILE.rowGroups)).map(encodeStruct),
    ...thriftStructs(tail.get(FILE.rowGroups)).map((group) => encodeStruct(shiftGroup(group, shift))),
  ];
  const bytes = encodeStruct(new Map([...file, [FILE.rows, longField(rows)], [FILE.rowGroups, structsField(groups)]]));
  return Buffer.concat([bytes, encodeParquetTail(bytes.length)]);
}

function isSame(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a !== undefined && b !== undefined && Buffer.compare(a, b) === 0;
}

function shiftGroup(group: ThriftStruct, shift: number): ThriftStruct {
  const columns = thriftStructs(group.get(GROUP.columns)).map((chunk) => encodeStruct(shiftChunk(chunk, shift)));
  return new Map([...shiftFields(group, POSITIONS.group, shift), [GROUP.columns, structsField(columns)]]);
}

function shiftChunk(chunk: ThriftStruct, shift: number): ThriftStruct {
  const column = thriftStruct(chunk.get(CHUNK.metadata)) ?? new Map();
  const metadata = structField(shiftFields(column, POSITIONS.column, shift));
  return new Map([...shiftFields(chunk, POSITIONS.chunk, shift), [CHUNK.metadata, metadata]]);
}

function shiftFields(fields: ThriftStruct, positions: readonly number[], shift: number): ThriftStruct {
  const shifted = new Map(fields);
  for (const id of positions) {
    const position = thriftLong(fields.get(id)) ?? 0;
    // No page is at the start of the file: a position of 0 means that there is none.
    if (position > 0) shifted.set(id, longField(position + shift));
  }
  return shifted;
}
