import type { DuckDBDataChunk } from '@duckdb/node-api';
import duckdb, { type DataChunk } from '@duckdb/node-bindings';
import { createBatchReader } from '../../wire/batch.ts';
import { type ChildRequest, groupRowsOption } from '../../wire/file-requests.ts';
import { CancelledError, type ActiveRequest } from '../active-request.ts';
import { type ColumnWriter, UnstorableValue } from '../columns/column-writer.ts';
import { createColumnWriter } from '../columns/nested-writers.ts';

/** A request to write the batches that follow. */
export type WriteRequest = Extract<ChildRequest, { op: 'write' }>;

/** DuckDB requests this many rows at a time. */
const CHUNK_ROWS = 2048;
/** How long DuckDB sleeps at most before it asks again when no rows have arrived. */
const MAX_WAIT_MS = 16;

/** One of the statements that write an upload. */
export class Lane {
  waitMs = 1;
  readonly upload: Upload;
  readonly index: number;

  constructor(upload: Upload, index: number) {
    this.upload = upload;
    this.index = index;
  }
}

/** The rows of one upload. Its lanes take them in turn, a row group at a time. */
export class Upload {
  readonly writers: readonly ColumnWriter[];
  arrowBytes = 0;
  failure: Error | undefined;
  /** Whether the segment ends before a batch that needs other options. */
  isInterrupted = false;
  /** The index of the growing option. */
  private level = 0;
  private isExact = false;
  private lanes = 1;
  /** The lane that gets the next rows, and how many of its row group are left. */
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
