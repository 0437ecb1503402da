import type { DuckDBConnection } from '@duckdb/node-api';
import type { Database } from '@duckdb/node-bindings';
import { onAbort } from '@svc/errors';
import { monotonicMs } from '../../wire/messages.ts';
import { sqlName, sqlText } from '../../wire/sql-names.ts';
import type { SqlRequest, SqlResponses, SqlView } from '../../wire/requests.ts';
import { type ActiveRequest, CancelledError } from '../active-request.ts';
import { RowTooLarge, sendRows } from '../files/read-rows.ts';
import { DuckDBInstance } from '../node-api.ts';
import {
  createSessionConnections,
  createSqlSession,
  MAX_ROW_BYTES,
  rowTooLarge,
  type SessionConnections,
  type SqlSession,
} from './sql-session.ts';
import { createSqlCatalogue, type ShowCatalogue } from './sql-catalogue.ts';
import { createSqlChecker, type SqlChecker } from './sql-check.ts';
import { faultOf, SqlError } from './sql-refusal.ts';

/** Runs SQL of one tenant, one statement at a time. */
export interface SqlHandler {
  run(active: ActiveRequest, request: SqlRequest): Promise<SqlResponses[keyof SqlResponses]>;
}

interface Tools {
  /** When the database was ready, by `monotonicMs`. */
  readonly openedMs: number;
  readonly connections: SessionConnections;
  /** For internal statements. */
  readonly inner: DuckDBConnection;
  readonly checker: SqlChecker;
  readonly views: FrameViews;
  readonly showCatalogue: ShowCatalogue;
}

/** The interval of progress reports. */
const PROGRESS_MS = 100;
/** The interval of repeated interrupts: DuckDB ignores one just before the start of a query. */
const INTERRUPT_MS = 20;

/** Creates a handler of a database with these settings. It is locked when it prepares the first statement of a client. */
export function createSqlHandler(settings: readonly string[], database: Promise<Database>): SqlHandler {
  const opened = open(settings, database);
  // Avoid an unhandled rejection; each request awaits `opened` itself.
  opened.catch(() => undefined);
  let session: SqlSession | undefined;
  /** What was sent for the next prepare. */
  let sent: Sent = NONE_SENT;

  function endSession(): void {
    session?.end();
    session = undefined;
  }

  async function handle(
    tools: Tools,
    active: ActiveRequest,
    request: SqlRequest,
  ): Promise<SqlResponses[keyof SqlResponses]> {
    const { connections, checker, views, showCatalogue } = tools;
    switch (request.op) {
      case 'check': {
        endSession();
        sent = NONE_SENT;
        const checked = await checker.check(request.sql);
        session = createSqlSession(connections, checked);
        const { text: _text, shift: _shift, ...names } = checked;
        return names;
      }
      case 'nearest':
        return (await checker.nearest(request)) ?? null;
      case 'frames':
        sent = joined(sent, request);
        return null;
      case 'prepare': {
        const all = joined(sent, { views: request.views, catalogue: request.catalogue ?? [] });
        sent = NONE_SENT;
        await views.show(request, all.views);
        if (request.catalogue !== undefined) {
          await views.hideOthers(all.views);
          await showCatalogue(all.catalogue);
        }
        return required(session).prepare(request.params);
      }
      case 'rows': {
        const current = required(session);
        active.spans?.step('execute');
        const rows = await current.run(request.casts);
        const result = await sendRows(active, rows, request.plans, { maxRowBytes: MAX_ROW_BYTES });
        current.complete();
        return result;
      }
      default:
        return request satisfies never;
    }
  }

  return {
    async run(active, request) {
      const tools = await opened;
      active.spans?.started(tools.openedMs);
      if (active.signal.aborted) throw new CancelledError();
      const interrupting = interruptOnAbort(active.signal, () => {
        tools.inner.interrupt();
        session?.interrupt();
      });
      const reporting = setInterval(() => reportProgress(active, session), PROGRESS_MS);
      try {
        return await handle(tools, active, request);
      } catch (error) {
        const shift = session?.shift ?? 0;
        endSession();
        throw failureOf(error, shift);
      } finally {
        interrupting.stop();
        clearInterval(reporting);
        if (request.op === 'rows') endSession();
      }
    },
  };
}

type Sent = Pick<Extract<SqlRequest, { op: 'frames' }>, 'views' | 'catalogue'>;
const NONE_SENT: Sent = { views: [], catalogue: [] };

function joined(before: Sent, { views, catalogue }: Sent): Sent {
  return { views: [...before.views, ...views], catalogue: [...before.catalogue, ...catalogue] };
}

async function open(settings: readonly string[], database: Promise<Database>): Promise<Tools> {
  const instance = new DuckDBInstance(await database);
  const inner = await instance.connect();
  await inner.run(settings.join(';'));
  const checker = await createSqlChecker(await instance.connect());
  return {
    openedMs: monotonicMs(),
    connections: createSessionConnections(instance),
    inner,
    checker,
    views: createFrameViews(inner),
    showCatalogue: createSqlCatalogue(inner),
  };
}

function reportProgress(active: ActiveRequest, session: SqlSession | undefined): void {
  const progress = session?.progress();
  if (progress !== undefined) active.sendProgress(progress.fraction, progress.rowsProcessed, progress.rowsTotal);
}

function required(session: SqlSession | undefined): SqlSession {
  if (session === undefined) throw new Error('The statement was not checked.');
  return session;
}

function interruptOnAbort(signal: AbortSignal, interrupt: () => void): { stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  const stopListening = onAbort(signal, () => {
    interrupt();
    timer = setInterval(interrupt, INTERRUPT_MS);
  });
  return {
    stop() {
      stopListening();
      clearInterval(timer);
    },
  };
}

function failureOf(error: unknown, shift: number): Error {
  if (error instanceof RowTooLarge) return rowTooLarge();
  const isOwn = error instanceof SqlError || error instanceof CancelledError;
  return isOwn ? error : new SqlError(faultOf(error, shift));
}

/** The views of frames for SQL. */
interface FrameViews {
  /**
   * Makes frames visible to SQL under their names. From the first call on, only files in `directories` can be read; paths
   * in views are relative to `home`.
   */
  show(files: { home: string; directories: readonly string[] }, views: readonly SqlView[]): Promise<void>;
  /** Hides all other frames: a frame may have the name of a view of DuckDB, and the catalogue queries those by name. */
  hideOthers(views: readonly SqlView[]): Promise<void>;
}

/** How many views are kept between statements. */
const MAX_VIEWS = 256;

/** Creates views of no frames, without file access limits yet. */
function createFrameViews(connection: DuckDBConnection): FrameViews {
  const known = new Map<string, string>();
  let locked: string | undefined;

  async function lock(directories: readonly string[]): Promise<void> {
    const list = directories.map(sqlText).join(', ');
    if (locked === list) return;
    if (locked !== undefined) throw new Error('A locked child cannot change its directories.');
    locked = list;
    await connection.run(`SET allowed_directories = [${list}]`);
    await connection.run('SET enable_external_access = false');
    await connection.run('SET lock_configuration = true');
  }

  async function create({ name, version, sql }: SqlView): Promise<void> {
    const view = `${version} ${sql}`;
    if (known.get(name) === view) return;
    known.delete(name);
    await connection.run(`CREATE OR REPLACE VIEW ${sqlName(name)} AS ${sql}`).catch((error: unknown) => {
      const { kind, message } = faultOf(error, 0);
      throw new SqlError({ code: 'unreadable_frame', frame: name, kind, message });
    });
    known.set(name, view);
  }

  async function drop(name: string): Promise<void> {
    known.delete(name);
    await connection.run(`DROP VIEW IF EXISTS ${sqlName(name)}`);
  }

  return {
    async hideOthers(views) {
      const wanted = new Set(views.map(({ name }) => name));
      for (const name of [...known.keys()].filter((one) => !wanted.has(one))) await drop(name);
    },
    async show({ home, directories }, views) {
      await lock(directories);
      if (views.length > 0) process.chdir(home);
      if (known.size + views.length > MAX_VIEWS) {
        for (const name of known.keys()) await drop(name);
      }
      for (const view of views) await create(view);
    },
  };
}
