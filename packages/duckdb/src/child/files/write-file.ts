// Writes Parquet files: the rows of a query, or the batches of an upload.
//
// The options of a COPY cannot change in the middle of a file. So an upload is written in segments, each with its own
// options, and the row groups of later segments are appended to the file of the first. A later segment has two lanes: two
// statements that take its row groups in turn. Without the second lane, DoPut of 320 MB takes 1.22 of the time and 0.9 of
// the CPU time (median of 11 alternating rounds on two cores; 1.16 to 1.28 on a quiet machine).
import { type FileHandle, open, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import type { DuckDBConnection, DuckDBDataChunk, DuckDBInstance as Instance } from '@duckdb/node-api';
import duckdb, { type DataChunk } from '@duckdb/node-bindings';
import { createBatchReader } from '../../wire/batch.ts';
import { type ChildRequest, groupRowsOption, type WrittenNumbers } from '../../wire/requests.ts';
import { encodeParquetTail, PARQUET_MAGIC } from '../../wire/file-layout.ts';
import { sqlName, sqlText } from '../../wire/sql-names.ts';
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
import { type ActiveRequest, CancelledError } from '../active-request.ts';
import { type ColumnWriter, UnstorableValue } from '../columns/fixed-writers.ts';
import { createColumnWriter } from '../columns/nested-writers.ts';
import { DuckDBTableFunction, PLAIN_TYPES } from '../node-api.ts';
import { finishFile, readFooter, readSome, writeFully } from './checksums.ts';
import { layoutOf } from './parquet-layout.ts';

type WriteRequest = Extract<ChildRequest, { op: 'write' }>;
type CopyRequest = Extract<ChildRequest, { op: 'copy' }>;

/** Writes the rows of a query to a file. Removes the file on failure. */
export async function copyToFile(
  request: CopyRequest,
  connection: DuckDBConnection,
  measure: (rows: number) => Promise<number>,
): Promise<WrittenNumbers> {
  try {
    const rows = await copyRows(connection, request.sql, request.path, request.options);
    return await finish(request, rows, await measure(rows));
  } catch (error) {
    await rm(request.path, { force: true });
    throw error;
  }
}

async function copyRows(connection: DuckDBConnection, sql: string, path: string, options: string): Promise<number> {
  const result = await connection.run(`COPY (${sql}) TO ${sqlText(path)} (${options})`);
  return result.rowsChanged;
}

async function finish(
  { path, notes }: Pick<CopyRequest, 'path' | 'notes'>,
  rows: number,
  arrowBytes: number,
): Promise<WrittenNumbers> {
  const fileBytes = await finishFile(path, { [notes.rowsKey]: rows, [notes.bytesKey]: arrowBytes });
  return { rows, arrowBytes, fileBytes };
}

/** Writes the batches of an upload to a file. Leaves no file on failure. */
export type WriteUpload = (
  connection: DuckDBConnection,
  active: ActiveRequest,
  request: WriteRequest,
) => Promise<WrittenNumbers>;

/** Registers the table function that passes the rows of uploads to DuckDB. */
export function createUploads(instance: Instance, connection: DuckDBConnection): WriteUpload {
  const running = new Map<number, Upload>();
  /** One upload at a time has several lanes: each waits for the others, and holds a thread of the pool. */
  let areLanesTaken = false;
  const source = DuckDBTableFunction.create({
    name: 'svc_source',
    parameterTypes: [PLAIN_TYPES.BIGINT, PLAIN_TYPES.BIGINT],
    bindFunction(info) {
      const upload = running.get(Number(info.getParameter(0)));
      const lane = Number(info.getParameter(1));
      for (const [i, { type }] of upload?.writers.entries() ?? []) info.addResultColumn(`c${i}`, type);
      info.addResultColumn('wait_ms', PLAIN_TYPES.INTEGER);
      if (upload !== undefined) info.setBindData(new Lane(upload, lane));
    },
    initFunction: (info) => info.setMaxThreads(1),
    mainFunction(info, chunk) {
      const { bindData } = info;
      if (!(bindData instanceof Lane)) return;
      try {
        bindData.upload.fill(chunk, bindData);
      } catch (error) {
        bindData.upload.fail(error);
        info.setError('The upload failed.');
      }
    },
  });
  connection.registerTableFunction(source);

  /** Writes the rows of a later segment. Returns their number. */
  async function writeSegment(upload: Upload, { path, segments: { tailPaths } }: WriteRequest): Promise<number> {
    const count = areLanesTaken ? 1 : Math.min(tailPaths.length, availableParallelism());
    if (count > 1) areLanesTaken = true;
    try {
      const { options, groupRows } = upload;
      const paths = tailPaths.slice(0, count);
      upload.resume(count);
      const copies = paths.map((lanePath, lane) =>
        withConnection(instance, (own) => copyRows(own, upload.sql(lane), lanePath, options)).catch(
          (error: unknown) => {
            // The other lanes would wait for the rows of this one.
            upload.fail(error);
            return 0;
          },
        ),
      );
      const rows = sumOf(await Promise.all(copies));
      if (upload.failure !== undefined) throw upload.failure;
      await appendRowGroups(path, paths, groupRows);
      return rows;
    } finally {
      if (count > 1) areLanesTaken = false;
    }
  }

  return async (writing, active, request) => {
    const { path, segments } = request;
    const upload = new Upload(active, request);
    running.set(active.id, upload);
    try {
      let rows = await copyRows(writing, upload.sql(0), path, upload.options);
      while (upload.isInterrupted) rows += await writeSegment(upload, request);
      return await finish(request, rows, upload.arrowBytes);
    } catch (error) {
      await rm(path, { force: true });
      throw upload.failure ?? error;
    } finally {
      running.delete(active.id);
      for (const tail of segments.tailPaths) await rm(tail, { force: true });
    }
  };
}

/** Runs the statement of a lane in a connection of its own. */
async function withConnection<T>(instance: Instance, task: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
  const connection = await instance.connect();
  try {
    // DuckDB would join short chunks: the end of a row group with the start of the lane's next one.
    await connection.run('SET enable_caching_operators = false');
    return await task(connection);
  } finally {
    connection.disconnectSync();
  }
}

/** DuckDB requests this many rows at a time. */
const CHUNK_ROWS = 2048;
/** DuckDB sleeps at most this long when no rows have arrived. */
const MAX_WAIT_MS = 16;

/** One of the statements that write an upload. */
class Lane {
  waitMs = 1;
  readonly upload: Upload;
  readonly index: number;

  constructor(upload: Upload, index: number) {
    this.upload = upload;
    this.index = index;
  }
}

/** The rows of one upload. Its lanes take them in turn, a row group at a time. */
class Upload {
  readonly writers: readonly ColumnWriter[];
  arrowBytes = 0;
  failure: Error | undefined;
  /** True if the segment ends before a batch with other options. */
  isInterrupted = false;
  /** The index of the growing option. */
  private level = 0;
  private isExact = false;
  private lanes = 1;
  /** The lane of the next rows, and how many of its row group are left. */
  private turn = 0;
  private groupLeft: number;
  private rows = 0;
  private next = 0;
  /** Rows of batches before this one. */
  private rowsBefore = 0;
  private readonly active: ActiveRequest;
  private readonly request: WriteRequest;

  constructor(active: ActiveRequest, request: WriteRequest) {
    this.active = active;
    this.request = request;
    this.writers = request.columns.map(({ plan }) => createColumnWriter(plan));
    this.groupLeft = this.groupRows;
  }

  fail(error: unknown): void {
    this.failure ??= error instanceof Error ? error : new Error(String(error));
  }

  /**
   * SQL for the rows of a lane. The function cannot wait for rows, and returning none would end the scan. Instead it
   * returns a dummy row, and the filter sleeps before it drops that row.
   */
  sql(lane: number): string {
    const names = this.request.columns.map(({ name }, i) => `c${i} AS ${sqlName(name)}`);
    return `SELECT ${names.join(', ')} FROM svc_source(${this.active.id}, ${lane})
      WHERE CASE WHEN wait_ms > 0 THEN sleep_ms(wait_ms) IS NOT NULL ELSE true END`;
  }

  /** The COPY options of the current segment. */
  get options(): string {
    const { options, exact } = this.request.segments;
    return [options, groupRowsOption(this.groupRows), ...(this.isExact ? [exact] : [])].join(', ');
  }

  /** The rows of a row group in the current segment. */
  get groupRows(): number {
    return this.request.segments.growing[this.level]?.groupRows ?? CHUNK_ROWS;
  }

  /** Starts a segment with the rows after those returned so far. */
  resume(lanes: number): void {
    this.isInterrupted = false;
    this.lanes = lanes;
    this.turn = 0;
    this.groupLeft = this.groupRows;
  }

  /** Fills a chunk with the next rows of a lane: none after the last, or a dummy row if they have not arrived yet. */
  fill(output: DuckDBDataChunk, lane: Lane): void {
    const { chunk } = output;
    if (this.active.signal.aborted) throw new CancelledError();
    if (this.failure !== undefined) throw this.failure;
    while (!this.isInterrupted && this.next === this.rows && this.active.incoming.length > 0) this.load();
    const left = this.isInterrupted ? 0 : this.rows - this.next;
    const count = lane.index === this.turn ? Math.min(CHUNK_ROWS, left, this.groupLeft) : 0;
    const isWaiting = count === 0 && !this.isInterrupted && !(this.active.hasAll && left === 0);
    lane.waitMs = isWaiting ? Math.min(2 * lane.waitMs, MAX_WAIT_MS) : 1;
    for (const [i, writer] of count === 0 ? [] : this.writers.entries()) this.fillColumn(chunk, i, writer, count);
    const rows = isWaiting ? 1 : count;
    const waits = isWaiting ? Int32Array.of(lane.waitMs) : NO_WAITS;
    duckdb.copy_data_to_vector(duckdb.data_chunk_get_vector(chunk, this.writers.length), 0, waits.buffer, 0, 4 * rows);
    output.rowCount = rows;
    this.take(count);
  }

  private take(count: number): void {
    this.next += count;
    this.groupLeft -= count;
    if (this.groupLeft > 0) return;
    this.turn = (this.turn + 1) % this.lanes;
    this.groupLeft = this.groupRows;
  }

  private load(): void {
    const payload = this.active.incoming.shift();
    if (payload === undefined) return;
    const batch = createBatchReader(payload);
    this.rowsBefore += this.rows;
    this.rows = batch.word();
    this.next = 0;
    for (const writer of this.writers) writer.load(batch);
    const level = this.request.segments.growing.findLastIndex(({ from }) => this.rowsBefore >= from);
    const isExact = this.isExact || this.writers.some((writer) => writer.hasNegativeZero);
    this.isInterrupted = level !== this.level || isExact !== this.isExact;
    this.level = level;
    this.isExact = isExact;
    this.active.requestBatch();
  }

  private fillColumn(chunk: DataChunk, i: number, writer: ColumnWriter, count: number): void {
    try {
      this.arrowBytes += writer.fill(duckdb.data_chunk_get_vector(chunk, i), this.next, count);
    } catch (error) {
      if (!(error instanceof UnstorableValue)) throw error;
      const row = this.rowsBefore + error.row + 1;
      const title = JSON.stringify(this.request.columns[i]?.title.slice(0, 80));
      throw new UnstorableValue(row, `Row ${row} of column ${title}: ${error.message}.`);
    }
  }
}

const NO_WAITS = new Int32Array(CHUNK_ROWS);

/** Field numbers in Parquet's Thrift definition. */
const FILE = { schema: 2, rows: 3, rowGroups: 4 };
const GROUP = { columns: 1, rows: 3 };
const CHUNK = { metadata: 3 };
/** Fields with positions in the file: of the first page, of column and offset indexes, of pages and Bloom filters. */
const POSITIONS = { group: [5], chunk: [2, 4, 6], column: [9, 10, 11, 14] };

/**
 * Appends the row groups of files, in turn, to a Parquet file with the same schema. Each has `groupRows` rows, the last of
 * all maybe fewer. None of the files has checksums yet.
 */
async function appendRowGroups(path: string, lanePaths: readonly string[], groupRows: number): Promise<void> {
  const files: FileHandle[] = [];
  async function openFile(name: string, flags: string): Promise<FileHandle> {
    const file = await open(name, flags);
    files.push(file);
    return file;
  }
  try {
    const file = await openFile(path, 'r+');
    const lanes: LaneFile[] = [];
    for (const lane of lanePaths) lanes.push(await readLane(await openFile(lane, 'r')));
    const old = await footerIn(file);
    const fields = new ThriftCursor(old.footer).struct();
    if (!lanes.every((lane) => isSame(fields.get(FILE.schema)?.bytes, lane.fields.get(FILE.schema)?.bytes))) {
      throw new Error('The schemas of the files differ.');
    }
    let end = old.at;
    for (const range of inTurn(lanes.map(({ ranges }) => ranges))) {
      range.shift = end - range.start;
      await copyRange(range, file);
      end += range.end - range.start;
    }
    const groups = inTurn(lanes.map(movedGroups));
    const rows = groups.map((group) => thriftLong(group.get(GROUP.rows)) ?? NaN);
    if (!rows.every((count, i) => count === groupRows || (i === rows.length - 1 && count < groupRows))) {
      throw new Error('The row groups are not in the order of their rows.');
    }
    // The longer footer overwrites all of the old one.
    await writeFully(file, extendedFooter(fields, groups, sumOf(rows)), end);
  } finally {
    for (const file of files) await file.close();
  }
}

/** A file with row groups to append. */
interface LaneFile {
  readonly fields: ThriftStruct;
  /** The bytes of each row group, then the rest up to the footer. */
  readonly ranges: readonly MovedRange[];
}

/** Bytes to copy to another file, and how much further on they are there. */
interface MovedRange {
  readonly file: FileHandle;
  readonly start: number;
  readonly end: number;
  shift: number;
}

async function readLane(file: FileHandle): Promise<LaneFile> {
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

async function footerIn(file: FileHandle): Promise<{ readonly footer: Buffer; readonly at: number }> {
  return readFooter(file.fd, (await file.stat()).size);
}

/** Returns the items of lanes in turn: the first of each, then the second of each … */
function inTurn<Item>(lanes: readonly (readonly Item[])[]): readonly Item[] {
  const longest = Math.max(...lanes.map(({ length }) => length));
  return Array.from({ length: longest }, (_, turn) => lanes.flatMap((lane) => lane.slice(turn, turn + 1))).flat();
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function isSame(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a !== undefined && b !== undefined && Buffer.compare(a, b) === 0;
}

const COPY_BYTES = 1024 * 1024;

async function copyRange({ file, start, end, shift }: MovedRange, to: FileHandle): Promise<void> {
  const buffer = Buffer.allocUnsafe(Math.min(COPY_BYTES, end - start));
  for (let at = start; at < end;) {
    const length = readSome(file.fd, buffer, at, end - at);
    await writeFully(to, buffer.subarray(0, length), at + shift);
    at += length;
  }
}

/** Encodes the footer with more row groups, and the end of the file after it. */
function extendedFooter(fields: ThriftStruct, groups: readonly ThriftStruct[], rows: number): Buffer {
  const all = [...thriftStructs(fields.get(FILE.rowGroups)), ...groups].map(encodeStruct);
  const total = (thriftLong(fields.get(FILE.rows)) ?? NaN) + rows;
  const bytes = encodeStruct(new Map([...fields, [FILE.rows, longField(total)], [FILE.rowGroups, structsField(all)]]));
  return Buffer.concat([bytes, encodeParquetTail(bytes.length)]);
}

/** The row groups of a lane, with the positions of their bytes in the other file. */
function movedGroups({ fields, ranges }: LaneFile): readonly ThriftStruct[] {
  const rest = ranges.at(-1)?.shift ?? NaN;
  return thriftStructs(fields.get(FILE.rowGroups)).map((group, i) => {
    const { end = 0, shift = NaN } = ranges[i] ?? {};
    // Bytes outside of their group, such as Bloom filters, are behind those of all groups.
    const move = (position: number): number => position + (position < end ? shift : rest);
    const columns = thriftStructs(group.get(GROUP.columns)).map((chunk) => encodeStruct(movedChunk(chunk, move)));
    return new Map([...movedFields(group, POSITIONS.group, move), [GROUP.columns, structsField(columns)]]);
  });
}

type Move = (position: number) => number;

function movedChunk(chunk: ThriftStruct, move: Move): ThriftStruct {
  const column = thriftStruct(chunk.get(CHUNK.metadata)) ?? new Map();
  const metadata = structField(movedFields(column, POSITIONS.column, move));
  return new Map([...movedFields(chunk, POSITIONS.chunk, move), [CHUNK.metadata, metadata]]);
}

function movedFields(fields: ThriftStruct, positions: readonly number[], move: Move): ThriftStruct {
  const moved = new Map(fields);
  for (const id of positions) {
    const position = thriftLong(fields.get(id)) ?? 0;
    // No page is at the start of the file: a position of 0 means none.
    if (position > 0) moved.set(id, longField(move(position)));
  }
  return moved;
}
