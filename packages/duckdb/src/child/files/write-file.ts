import type { DuckDBConnection, DuckDBDataChunk } from '@duckdb/node-api';
import duckdb, { type DataChunk } from '@duckdb/node-bindings';
import { rm } from 'node:fs/promises';
import { appendRowGroups } from './append-row-groups.ts';
import { createBatchReader } from '../../wire/batch.ts';
import { type ColumnWriter, UnstorableValue } from '../columns/column-writer.ts';
import { CancelledError, type ActiveRequest } from '../active-request.ts';
import { finishFile } from './finish-file.ts';
import { createColumnWriter } from '../columns/nested-writers.ts';
import { DuckDBTableFunction, PLAIN_TYPES } from '../node-api.ts';
import type { ChildRequest, WrittenNumbers } from '../../wire/file-requests.ts';

type WriteRequest = Extract<ChildRequest, { op: 'write' }>;
type CopyRequest = Extract<ChildRequest, { op: 'copy' }>;
type FileTarget = Pick<CopyRequest, 'path' | 'options'>;

/** Writes files from batches that the parent sends. */
export interface Uploads {
  write(connection: DuckDBConnection, active: ActiveRequest, request: WriteRequest): Promise<WrittenNumbers>;
}

/** DuckDB requests this many rows at a time. */
const CHUNK_ROWS = 2048;
/** How long DuckDB sleeps at most before it asks again when no rows have arrived. */
const MAX_WAIT_MS = 16;

/** Registers the table function that passes the rows of an upload to DuckDB. */
export function createUploads(connection: DuckDBConnection): Uploads {
  const running = new Map<number, Upload>();
  const source = DuckDBTableFunction.create({
    name: 'svc_source',
    parameterTypes: [PLAIN_TYPES.BIGINT],
    bindFunction(info) {
      const upload = running.get(Number(info.getParameter(0)));
      for (const [i, { type }] of upload?.writers.entries() ?? []) info.addResultColumn(`c${i}`, type);
      info.addResultColumn('wait_ms', PLAIN_TYPES.INTEGER);
      if (upload !== undefined) info.setBindData({ upload });
    },
    initFunction: (info) => info.setMaxThreads(1),
    mainFunction(info, chunk) {
      const { bindData } = info;
      const upload =
        bindData && 'upload' in bindData && bindData.upload instanceof Upload ? bindData.upload : undefined;
      try {
        upload?.fill(chunk);
      } catch (error) {
        upload?.fail(error);
        info.setError('The upload failed.');
      }
    },
  });
  connection.registerTableFunction(source);

  return {
    async write(writing, active, request) {
      const upload = new Upload(active, request);
      running.set(active.id, upload);
      try {
        const names = request.columns.map(({ name }, i) => `c${i} AS "${name.replaceAll('"', '""')}"`);
        // The function cannot wait for rows, and returning none would end the scan. Instead it returns a dummy row, and
        // the filter sleeps before it drops that row.
        const sql = `SELECT ${names.join(', ')} FROM svc_source(${active.id})
          WHERE CASE WHEN wait_ms > 0 THEN sleep_ms(wait_ms) IS NOT NULL ELSE true END`;
        const rows = await writeSegments(upload, request, (target) => copyRows(target, sql, writing));
        return await finish(request, rows, upload.arrowBytes);
      } catch (error) {
        await rm(request.path, { force: true });
        throw upload.failure ?? error;
      } finally {
        running.delete(active.id);
        await rm(request.segments.tailPath, { force: true });
      }
    },
  };
}

/** Writes the rows of an upload, with a segment for every change of the options. Returns the number of rows. */
async function writeSegments(
  upload: Upload,
  { path, segments: { tailPath } }: WriteRequest,
  copy: (target: FileTarget) => Promise<number>,
): Promise<number> {
  for (let rows = 0; ;) {
    const isTail = rows > 0;
    rows += await copy({ path: isTail ? tailPath : path, options: upload.options });
    if (isTail) await appendRowGroups(path, tailPath);
    if (!upload.isInterrupted) return rows;
    upload.resume();
  }
}

/** Writes the rows of a query to a file. Removes the file on failure. */
export async function copyToFile(
  request: CopyRequest,
  sql: string,
  connection: DuckDBConnection,
  measure: (rows: number) => Promise<number>,
): Promise<WrittenNumbers> {
  try {
    const rows = await copyRows(request, sql, connection);
    return await finish(request, rows, await measure(rows));
  } catch (error) {
    await rm(request.path, { force: true });
    throw error;
  }
}

async function copyRows({ path, options }: FileTarget, sql: string, connection: DuckDBConnection): Promise<number> {
  const result = await connection.run(`COPY (${sql}) TO '${path.replaceAll("'", "''")}' (${options})`);
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

/** The rows of one upload. */
class Upload {
  readonly writers: readonly ColumnWriter[];
  arrowBytes = 0;
  failure: unknown;
  /** Whether the segment ends before a batch that needs other options. */
  isInterrupted = false;
  /** The index of the growing option. */
  private level = 0;
  private isExact = false;
  private waitMs = 1;
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
  }

  fail(error: unknown): void {
    this.failure ??= error;
  }

  /** The COPY options of the current segment. */
  get options(): string {
    const { options, growing, exact } = this.request.segments;
    return [options, growing[this.level]?.option ?? '', ...(this.isExact ? [exact] : [])].join(', ');
  }

  /** Starts a segment with the rows after those returned so far. */
  resume(): void {
    this.isInterrupted = false;
  }

  /** Fills a chunk with the next rows: none after the last, or a dummy row if they have not arrived yet. */
  fill(output: DuckDBDataChunk): void {
    const { chunk } = output;
    if (this.active.signal.aborted) throw new CancelledError();
    while (!this.isInterrupted && this.next === this.rows && this.active.incoming.length > 0) this.load();
    const count = this.isInterrupted ? 0 : Math.min(CHUNK_ROWS, this.rows - this.next);
    const isWaiting = count === 0 && !this.isInterrupted && !this.active.hasAll;
    this.waitMs = isWaiting ? Math.min(2 * this.waitMs, MAX_WAIT_MS) : 1;
    for (const [i, writer] of count === 0 ? [] : this.writers.entries()) this.fillColumn(chunk, i, writer, count);
    const rows = isWaiting ? 1 : count;
    const waits = isWaiting ? Int32Array.of(this.waitMs) : NO_WAITS;
    duckdb.copy_data_to_vector(duckdb.data_chunk_get_vector(chunk, this.writers.length), 0, waits.buffer, 0, 4 * rows);
    output.rowCount = rows;
    this.next += count;
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
