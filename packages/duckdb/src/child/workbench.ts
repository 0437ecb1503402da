import duckdb, { type Connection, type Result } from '@duckdb/node-bindings';
import { CancelledError, type Exchange } from './exchange.ts';
import { copyToFile, createUploads, type Uploads } from './write-file.ts';
import { duckTypeOf } from './duck-type.ts';
import { readRows } from './read-rows.ts';
import { TextReader } from './text-reader.ts';
import type { ChildAnswers, ChildRequest } from './requests.ts';

/** Does what requests ask for, with one database in memory. */
export interface Workbench {
  run(exchange: Exchange, request: ChildRequest): Promise<ChildAnswers[keyof ChildAnswers]>;
}

/** A workbench that is set up with some statements. */
export function createWorkbench(settings: readonly string[]): Workbench {
  const opened = open(settings);
  // Whoever asks for something is told.
  opened.catch(() => undefined);
  return {
    async run(exchange, request) {
      const { database, uploads } = await opened;
      if (exchange.signal.aborted) throw new CancelledError();
      // One for each request: a second statement on a connection ends the result of the first.
      const connection = await duckdb.connect(database);
      const interrupt = (): void => duckdb.interrupt(connection);
      exchange.signal.addEventListener('abort', interrupt, { once: true });
      try {
        for (const sql of request.setup ?? []) await duckdb.query(connection, sql);
        return await answer({ connection, uploads }, exchange, request);
      } finally {
        exchange.signal.removeEventListener('abort', interrupt);
        await endResult(connection);
        duckdb.disconnect_sync(connection);
        freeMemory();
      }
    },
  };
}

async function open(settings: readonly string[]): Promise<{ database: duckdb.Database; uploads: Uploads }> {
  const database = await duckdb.open(':memory:');
  const connection = await duckdb.connect(database);
  for (const sql of settings) await duckdb.query(connection, sql);
  return { database, uploads: createUploads(connection) };
}

/** Results and chunks of DuckDB are freed when their small objects are collected: that is seen to where they are much. */
const MANY_BYTES = 400 * 1024 * 1024;
const FREE_EVERY_MS = 1000;
let freedAt = 0;

function freeMemory(): void {
  const now = performance.now();
  if (now - freedAt < FREE_EVERY_MS || process.memoryUsage.rss() < MANY_BYTES) return;
  freedAt = now;
  // After the request is done with, so that nothing holds what is of it.
  setImmediate(() => globalThis.gc?.());
}

interface Tools {
  readonly connection: Connection;
  readonly uploads: Uploads;
}

async function answer(
  { connection, uploads }: Tools,
  exchange: Exchange,
  request: ChildRequest,
): Promise<ChildAnswers[keyof ChildAnswers]> {
  switch (request.op) {
    case 'inspect':
      return inspect(connection, request.sql);
    case 'texts':
      return await texts(await duckdb.query(connection, request.sql));
    case 'read':
      return await readRows(connection, exchange, request);
    case 'write':
      return await uploads.write(connection, exchange, request);
    case 'copy':
      return await copyToFile(request, request.sql, connection, async () => {
        const [[bytes] = []] = await texts(await duckdb.query(connection, request.measureSql));
        return Number(bytes ?? 0);
      });
    default:
      return request satisfies never;
  }
}

/** A result that was not read to its end holds files and memory until the next statement. */
async function endResult(connection: Connection): Promise<void> {
  await duckdb.query(connection, 'SELECT 1').catch(() => undefined);
}

async function inspect(connection: Connection, sql: string): Promise<ChildAnswers['inspect']> {
  const prepared = await duckdb.prepare(connection, sql);
  return Array.from({ length: duckdb.prepared_statement_column_count(prepared) }, (_, i) => ({
    name: duckdb.prepared_statement_column_name(prepared, i),
    type: duckTypeOf(duckdb.prepared_statement_column_logical_type(prepared, i)),
  }));
}

async function texts(result: Result): Promise<ChildAnswers['texts']> {
  const rows: (string | null)[][] = [];
  const readers = Array.from({ length: duckdb.column_count(result) }, () => new TextReader());
  for (;;) {
    const chunk = await duckdb.fetch_chunk(result);
    const count = chunk === null ? 0 : duckdb.data_chunk_get_size(chunk);
    if (chunk === null || count === 0) return rows;
    const first = rows.length;
    for (let row = 0; row < count; row++) rows.push([]);
    for (const [column, reader] of readers.entries()) {
      reader.open(duckdb.data_chunk_get_vector(chunk, column), count);
      reader.take(0, count);
      for (let row = 0; row < count; row++) rows[first + row]?.push(reader.textAt(row));
      reader.clear();
    }
  }
}
