import type {
  DuckDBConnection,
  DuckDBInstance as Instance,
  DuckDBPreparedStatement,
  DuckDBResult,
  DuckDBType,
  DuckDBTypeId as TypeId,
} from '@duckdb/node-api';
import { sqlName, sqlText } from '../storage-types-names.ts';
import { checkColumnCount, type Columns, limitedColumns, MAX_ROW_BYTES, rowTooLarge } from './answer-limits.ts';
import { bindParams } from './bind-params.ts';
import { duckTypeOf } from './duck-type.ts';
import { CancelledError, type Exchange } from './exchange.ts';
import { DuckDBInstance, DuckDBTypeId } from './node-api.ts';
import { RowTooLarge, sendRows } from './read-rows.ts';
import type { DuckType } from './requests.ts';
import { type CheckedSql, createSqlChecker, type SqlChecker } from './sql-check.ts';
import { faultOf, SqlFaultError } from './sql-fault.ts';
import { SqlRefusal, UnreadableFrameError } from './sql-refusal.ts';
import type { SqlAnswers, SqlParam, SqlRequest, SqlView } from './sql-requests.ts';

/** Answers SQL of one tenant, one statement at a time. */
export interface SqlBench {
  run(exchange: Exchange, request: SqlRequest): Promise<SqlAnswers[keyof SqlAnswers]>;
}

/** What there is for one statement. */
interface Session {
  readonly checked: CheckedSql;
  /** How many bytes further left something is in what is run than in what was asked. */
  shift: number;
  connection?: DuckDBConnection;
  prepared?: DuckDBPreparedStatement;
  params: readonly SqlParam[];
  /** Where it was begun to find out the types of its columns. */
  result?: DuckDBResult | undefined;
}

interface Tools {
  readonly instance: Instance;
  /** For what only we say. */
  readonly inner: DuckDBConnection;
  readonly checker: SqlChecker;
}

/** How often a query that should stop is told so: one that is just about to begin does not hear it. */
const INTERRUPT_MS = 20;
/** So many views stay from one statement to the next. */
const MAX_VIEWS = 256;

/** A bench that is set up with some statements, and locked with the first statement it prepares. */
export function createSqlBench(settings: readonly string[]): SqlBench {
  const opened = open(settings);
  // Whoever asks for something is told.
  opened.catch(() => undefined);
  const views = new Map<string, string>();
  let directories: string | undefined;
  let session: Session | undefined;

  function endSession(): void {
    session?.connection?.disconnectSync();
    session = undefined;
  }

  async function lock({ inner }: Tools, allowed: readonly string[]): Promise<void> {
    const list = allowed.map(sqlText).join(', ');
    if (directories === list) return;
    if (directories !== undefined) throw new Error('A locked child is asked to read other directories.');
    directories = list;
    await inner.run(`SET allowed_directories = [${list}]`);
    await inner.run('SET enable_external_access = false');
    await inner.run('SET lock_configuration = true');
  }

  async function show({ inner }: Tools, wanted: readonly SqlView[]): Promise<void> {
    if (views.size + wanted.length > MAX_VIEWS) {
      for (const name of views.keys()) await inner.run(`DROP VIEW IF EXISTS ${sqlName(name)}`);
      views.clear();
    }
    for (const { name, sql } of wanted) {
      if (views.get(name) === sql) continue;
      views.delete(name);
      await inner.run(`CREATE OR REPLACE VIEW ${sqlName(name)} AS ${sql}`).catch((error: unknown) => {
        throw new UnreadableFrameError({ code: 'unreadable_frame', frame: name, message: String(error) });
      });
      views.set(name, sql);
    }
  }

  async function answer(tools: Tools, exchange: Exchange, request: SqlRequest): Promise<SqlAnswers[keyof SqlAnswers]> {
    switch (request.op) {
      case 'check': {
        endSession();
        const checked = await tools.checker.check(request.sql);
        session = { checked, shift: checked.shift, params: [] };
        return { tables: checked.tables, ...(checked.listsFrames && { listsFrames: true }) };
      }
      case 'nearest':
        return (await tools.checker.nearest(request)) ?? null;
      case 'prepare': {
        const current = required(session);
        await lock(tools, request.directories);
        const [home] = request.directories;
        // A tenant without frames has no folder yet.
        if (home !== undefined && request.views.length > 0) process.chdir(home);
        await show(tools, request.views);
        return prepare(tools, current, request.params);
      }
      case 'rows': {
        const current = required(session);
        const result = await begin(current, request.casts);
        return sendRows(exchange, result, request.plans, MAX_ROW_BYTES);
      }
      default:
        return request satisfies never;
    }
  }

  return {
    async run(exchange, request) {
      const tools = await opened;
      if (exchange.signal.aborted) throw new CancelledError();
      const interrupt = (): void => {
        tools.inner.interrupt();
        session?.connection?.interrupt();
      };
      let timer: NodeJS.Timeout | undefined;
      const stop = (): void => {
        interrupt();
        timer = setInterval(interrupt, INTERRUPT_MS);
      };
      exchange.signal.addEventListener('abort', stop, { once: true });
      try {
        return await answer(tools, exchange, request);
      } catch (error) {
        const shift = session?.shift ?? 0;
        endSession();
        if (error instanceof RowTooLarge) throw rowTooLarge();
        const isOwn = error instanceof SqlRefusal || error instanceof UnreadableFrameError;
        if (isOwn || error instanceof CancelledError) throw error;
        throw new SqlFaultError(faultOf(error, shift));
      } finally {
        exchange.signal.removeEventListener('abort', stop);
        clearInterval(timer);
        if (request.op === 'rows') endSession();
      }
    },
  };
}

async function open(settings: readonly string[]): Promise<Tools> {
  const instance = await DuckDBInstance.create(':memory:');
  const inner = await instance.connect();
  for (const sql of settings) await inner.run(sql);
  return { instance, inner, checker: await createSqlChecker(await instance.connect()) };
}

function required(session: Session | undefined): Session {
  if (session === undefined) throw new Error('A statement is to be run that was not checked.');
  return session;
}

/** The types of the columns are not known before the values of the parameters are. */
async function prepare(
  { instance }: Tools,
  session: Session,
  params: readonly SqlParam[] | undefined,
): Promise<SqlAnswers['prepare']> {
  session.connection = await instance.connect();
  const prepared = await session.connection.prepare(session.checked.text);
  checkColumnCount(prepared.columnCount);
  session.prepared = prepared;
  const parameters = Array.from({ length: prepared.parameterCount }, (_, i) =>
    typeOr(prepared.parameterTypeId(i + 1), () => prepared.parameterType(i + 1)),
  );
  if (params === undefined) return { columns: limitedColumns(columnsOf(prepared)), parameters };
  if (params.length !== parameters.length) {
    throw new SqlRefusal({
      code: 'invalid_sql',
      message: `The SQL has ${parameters.length} parameters, and ${params.length} values were given.`,
      hint: 'Give one value for each parameter, in order.',
    });
  }
  session.params = params;
  if (params.length === 0) return { columns: limitedColumns(columnsOf(prepared)), parameters };
  await bindParams(session.connection, prepared, params);
  const result = await prepared.stream();
  session.result = result;
  const names = result.columnNames();
  const columns = result.columnTypes().map((type, i) => ({ name: names[i] ?? '', type: duckTypeOf(type) }));
  return { columns: limitedColumns(columns), parameters };
}

function columnsOf(prepared: DuckDBPreparedStatement): Columns {
  return Array.from({ length: prepared.columnCount }, (_, i) => ({
    name: prepared.columnName(i),
    type: typeOr(prepared.columnTypeId(i), () => prepared.columnType(i)),
  }));
}

/** A parameter that could be anything has no type, and neither has a column that is made of it. */
function typeOr(id: TypeId, type: () => DuckDBType): DuckType {
  return id === DuckDBTypeId.INVALID ? { name: 'INVALID' } : duckTypeOf(type());
}

/** Runs the statement, with its columns cast where some are of types that cannot be read as they are. */
async function begin(session: Session, casts: readonly string[] | undefined): Promise<DuckDBResult> {
  const { connection, prepared, result, params } = session;
  if (connection === undefined || prepared === undefined) throw new Error('Rows are asked for of nothing.');
  if (casts === undefined) return result ?? prepared.stream();
  session.result = undefined;
  const names = casts.map((_, i) => `c${i}`);
  const list = casts.map((type, i) => `CAST(c${i} AS ${type})`);
  const head = `SELECT ${list.join(', ')} FROM (`;
  session.shift -= Buffer.byteLength(head);
  // What the statement ends with may be a comment.
  const wrap = (text: string): string => `${head}${text}\n) AS answer(${names.join(', ')})`;
  const { text } = session.checked;
  const wrapped = await connection
    .prepare(wrap(text))
    .catch(() => connection.prepare(wrap(text.replace(LAST_SEMICOLON, ''))));
  if (params.length > 0) await bindParams(connection, wrapped, params);
  return wrapped.stream();
}

const LAST_SEMICOLON = /;(?:\s|;|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*$/;
