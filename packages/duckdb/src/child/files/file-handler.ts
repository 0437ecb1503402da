import type { DuckDBConnection, DuckDBInstance as Instance, DuckDBResult } from '@duckdb/node-api';
import duckdb, { type Database } from '@duckdb/node-bindings';
import { onAbort } from '@svc/errors';
import { collectGarbage } from '../collect-garbage.ts';
import { type ActiveRequest, CancelledError } from '../active-request.ts';
import { DamagedFileError, footerOf, IntactFileError } from './checksums.ts';
import { declaredValues } from './parquet-layout.ts';
import { copyToFile, createUploads, type WriteUpload } from './write-file.ts';
import { DuckDBInstance, duckTypeOf } from '../node-api.ts';
import { openDatabase } from '../open-database.ts';
import { createFileVerifier } from './file-verifier.ts';
import { readRows, withLargeBuffer } from './read-rows.ts';
import { TextReader } from '../columns/text-readers.ts';
import type { ArrowMeasure, ChildRequest, ChildResponses, ChildSettings } from '../../wire/requests.ts';
import { monotonicMs } from '../../wire/messages.ts';

/** Handles file requests, with one in-memory database, and another for uploads. */
export interface FileHandler {
  run(active: ActiveRequest, request: ChildRequest): Promise<ChildResponses[keyof ChildResponses]>;
}

const INTERRUPT_EVERY_MS = 20;

/** Creates a handler whose databases have these settings; the first one is `database`. */
export function createFileHandler(
  { settings, uploadSettings = [] }: ChildSettings,
  database: Promise<Database>,
): FileHandler {
  const opened = open(settings, database);
  let openedForUploads: ReturnType<typeof open> | undefined;
  const forUploads = (): ReturnType<typeof open> => (openedForUploads ??= open(uploadSettings, openDatabase()));
  const returnMemoryLater = createMemoryReturn(async () => {
    const limit = uploadSettings.find((sql) => sql.startsWith('SET memory_limit'));
    if (limit !== undefined) await (await forUploads()).connection.run(limit);
  });
  const verifier = createFileVerifier();
  // Avoid an unhandled rejection; each request awaits `opened` itself.
  opened.catch(() => undefined);

  async function handle(
    { writeUpload }: OpenDatabase,
    connection: DuckDBConnection,
    active: ActiveRequest,
    request: Exclude<ChildRequest, { op: 'verify' }>,
  ): Promise<ChildResponses[keyof ChildResponses]> {
    switch (request.op) {
      case 'inspect':
        return inspect(connection, request.sql);
      case 'texts':
        return await texts(await connection.run(request.sql));
      case 'values':
        return declaredValues(await footerOf(request.path));
      case 'read':
        if (request.isLong !== true) return await readVerified(connection, active, request);
        return await withLargeBuffer(connection, () => readVerified(connection, active, request));
      case 'write':
        return await writeUpload(connection, active, request);
      case 'copy':
        return await copyToFile(request, connection, (rows) => measure(connection, request.measure, rows));
      default:
        return request satisfies never;
    }
  }

  /** Sends the rows of a query, each after the bytes it came from are verified. */
  async function readVerified(
    connection: DuckDBConnection,
    active: ActiveRequest,
    request: Extract<ChildRequest, { op: 'read' }>,
  ): Promise<ChildResponses['read']> {
    if (request.rowChecks === undefined) return readRows(connection, active, request);
    active.spans?.step('verify');
    const verified = await verifier.rows(request.rowChecks, active.signal);
    try {
      return await readRows(connection, active, request, { allow: (rows) => verified.upTo(rows) });
    } catch (error) {
      if (active.signal.aborted || error instanceof DamagedFileError) throw error;
      throw (await verified.again()).isChecked ? new IntactFileError(error) : error;
    } finally {
      await verified.end();
    }
  }

  return {
    async run(active, request) {
      const isUpload = request.op === 'write';
      if (request.checks !== undefined) active.spans?.step('verify');
      await verifier.verify(request.checks ?? [], active.signal);
      if (request.op === 'verify') return verifier.verify(request.files, active.signal, request.again);
      const used = await (isUpload ? forUploads() : opened);
      active.spans?.started(used.openedMs);
      if (active.signal.aborted) throw new CancelledError();
      // One per request: a second statement on a connection ends the result of the first.
      const connection = await used.instance.connect();
      let repeated: NodeJS.Timeout | undefined;
      let isDone = false;
      const stopListening = onAbort(active.signal, () => {
        connection.interrupt();
        // DuckDB ignores an interrupt before the statement starts: repeat it.
        repeated = setInterval(() => connection.interrupt(), INTERRUPT_EVERY_MS);
      });
      try {
        if (active.signal.aborted) throw new CancelledError();
        for (const sql of request.setup ?? []) await connection.run(sql);
        const response = await handle(used, connection, active, request);
        isDone = true;
        return response;
      } finally {
        stopListening();
        clearInterval(repeated);
        if (!isDone) await endResult(connection);
        connection.disconnectSync();
        freeMemory();
        returnMemoryLater();
      }
    },
  };
}

async function open(settings: readonly string[], database: Promise<Database>): Promise<OpenDatabase> {
  const instance = new DuckDBInstance(await database);
  const connection = await instance.connect();
  await connection.run(settings.join(';'));
  return { instance, connection, writeUpload: createUploads(instance, connection), openedMs: monotonicMs() };
}

interface OpenDatabase {
  readonly instance: Instance;
  /** For settings. */
  readonly connection: DuckDBConnection;
  readonly writeUpload: WriteUpload;
  /** When the database was ready, by `monotonicMs`. */
  readonly openedMs: number;
}

/** DuckDB's results and chunks are freed when their small wrapper objects are collected: collect above this size. */
const MANY_BYTES = 400 * 1024 * 1024;
const FREE_EVERY_MS = 1000;
let freedAt = 0;

function freeMemory(): void {
  const now = performance.now();
  if (now - freedAt < FREE_EVERY_MS || process.memoryUsage.rss() < MANY_BYTES) return;
  freedAt = now;
  // After the request is done: then nothing refers to its objects.
  setImmediate(() => collectGarbage());
}

/** A child of this size returns no memory. */
const KEPT_BYTES = 160 * 1024 * 1024;
/** Memory is returned when the child has grown by this factor since the last time. */
const GROWTH = 1.25;

/**
 * Returns a function to give freed memory back to the system a little later, if there may be much. A wide file leaves some
 * hundred MB with the allocator, in many pieces: DuckDB trims it when its limit is set (357 MB to 91 after four files of
 * 5000 columns).
 */
function createMemoryReturn(trim: () => Promise<void>): () => void {
  let timer: NodeJS.Timeout | undefined;
  let leftBytes = 0;
  return () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      const rss = (): number => process.memoryUsage.rss();
      if (rss() < Math.max(KEPT_BYTES, GROWTH * leftBytes)) return;
      collectGarbage();
      trim()
        .catch(() => undefined)
        .finally(() => (leftBytes = rss()));
    }, FREE_EVERY_MS).unref();
  };
}

async function measure(
  connection: DuckDBConnection,
  { bytes, bytesPerRow, statements }: ArrowMeasure,
  rows: number,
): Promise<number> {
  let sum = bytes + rows * bytesPerRow;
  for (const sql of statements) {
    const [[more] = []] = await texts(await connection.run(sql));
    sum += Number(more ?? 0);
  }
  return Math.ceil(sum);
}

/** Runs another statement: an abandoned result holds files and memory until then. */
async function endResult(connection: DuckDBConnection): Promise<void> {
  await connection.run('SELECT 1').catch(() => undefined);
}

async function inspect(connection: DuckDBConnection, sql: string): Promise<ChildResponses['inspect']> {
  const prepared = await connection.prepare(sql);
  return Array.from({ length: prepared.columnCount }, (_, i) => ({
    name: prepared.columnName(i),
    type: duckTypeOf(prepared.columnType(i)),
  }));
}

async function texts(result: DuckDBResult): Promise<ChildResponses['texts']> {
  const rows: (string | null)[][] = [];
  const readers = Array.from({ length: result.columnCount }, () => new TextReader());
  for (;;) {
    const chunk = await result.fetchChunk();
    const count = chunk?.rowCount ?? 0;
    if (chunk === null || count === 0) return rows;
    const first = rows.length;
    for (let row = 0; row < count; row++) rows.push([]);
    for (const [column, reader] of readers.entries()) {
      reader.open(duckdb.data_chunk_get_vector(chunk.chunk, column), count);
      reader.take(0, count);
      for (let row = 0; row < count; row++) rows[first + row]?.push(reader.textAt(row));
      reader.clear();
    }
  }
}
