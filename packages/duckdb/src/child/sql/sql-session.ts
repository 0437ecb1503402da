import { setImmediate } from 'node:timers/promises';
import type {
  DuckDBConnection,
  DuckDBInstance,
  DuckDBPreparedStatement,
  DuckDBResult,
  DuckDBType,
  DuckDBTypeId as TypeId,
} from '@duckdb/node-api';
import type { DuckType } from '../../wire/column-plans.ts';
import type { SqlParam, SqlResponses } from '../../wire/requests.ts';
import { DuckDBTypeId, duckTypeOf } from '../node-api.ts';
import { type RowStream, WITHOUT_ROWS } from '../files/read-rows.ts';
import type { CheckedSql } from './sql-check.ts';
import { SqlRefusal } from './sql-refusal.ts';

/** A checked statement on a separate connection: a second statement on a connection ends the first. */
export interface SqlSession {
  /** How many bytes positions in the executed SQL are before those in the original. */
  readonly shift: number;
  /** Without values for its parameters, the statement cannot be run later. */
  prepare(params?: readonly SqlParam[]): Promise<SqlResponses['prepare']>;
  /** Runs it. `casts` converts columns whose types cannot be read directly. */
  run(casts?: readonly string[]): Promise<RowStream>;
  /** Returns the progress of the running statement; undefined if it is unknown. */
  progress(): SessionProgress | undefined;
  interrupt(): void;
  /** All rows were read. */
  complete(): void;
  end(): void;
}

/** The progress of a statement, as DuckDB estimates it. */
export interface SessionProgress {
  /** From 0 to 1. */
  readonly fraction: number;
  readonly rowsProcessed: number;
  readonly rowsTotal: number;
}

/** Creates a session for a statement. */
export function createSqlSession(connections: SessionConnections, { text, shift }: CheckedSql): SqlSession {
  let connection: DuckDBConnection | undefined;
  /** What the connection does. Until its statement runs, DuckDB reports the progress of the one before. */
  let activity: 'preparing' | 'idle' | 'running' = 'preparing';
  let prepared: DuckDBPreparedStatement | undefined;
  /** The running result, if the statement was started to determine its column types. */
  let begun: DuckDBResult | undefined;
  let values: readonly SqlParam[] = [];
  let shiftBytes = shift;

  return {
    get shift() {
      return shiftBytes;
    },
    async prepare(params) {
      connection = await connections.take();
      prepared = await connection.prepare(text);
      checkColumnCount(prepared.columnCount);
      const parameters = parametersOf(prepared);
      if (params !== undefined) checkParamCount(parameters.length, params.length);
      if (params === undefined || params.length === 0) {
        const columns = limitedColumns(await columnsOf(prepared));
        activity = 'idle';
        return { columns, parameters };
      }
      values = params;
      await bindParams(connection, prepared, values);
      activity = 'running';
      // The column types depend on the values of the parameters.
      begun = await prepared.stream();
      return { columns: limitedColumns(resultColumns(begun)), parameters };
    },
    async run(casts) {
      if (connection === undefined || prepared === undefined) throw new Error('The statement was not prepared.');
      const open = connection;
      activity = 'running';
      const prepareIn = async (head: string, tail: string): Promise<DuckDBPreparedStatement> => {
        shiftBytes = shift - Buffer.byteLength(head);
        const wrapped = await prepareWrapped(open, head, text, tail);
        await bindParams(open, wrapped, values);
        return wrapped;
      };
      const rerunIn = (head: string, tail: string) => async (): Promise<DuckDBResult> =>
        (await prepareIn(WITHOUT_ROWS + head, tail)).run();
      if (casts === undefined) return { result: begun ?? (await prepared.stream()), rerun: rerunIn('', '') };
      begun = undefined;
      const head = `SELECT ${casts.map((type, i) => (type === '' ? `c${i}` : `CAST(c${i} AS ${type})`)).join(', ')} FROM (`;
      const tail = `) AS answer(${casts.map((_, i) => `c${i}`).join(', ')})`;
      return { result: await (await prepareIn(head, tail)).stream(), rerun: rerunIn(head, tail) };
    },
    progress: () => (connection && activity === 'running' ? progressOf(connection) : undefined),
    interrupt: () => connection?.interrupt(),
    complete() {
      activity = 'idle';
    },
    end() {
      if (connection !== undefined) connections.release(connection, activity === 'idle');
      connection = undefined;
    },
  };
}

/** Not all operators of DuckDB report progress. */
function progressOf(connection: DuckDBConnection): SessionProgress | undefined {
  const { percentage, rows_processed: processed, total_rows_to_process: total } = connection.progress;
  if (!(percentage >= 0) || total === 0n) return undefined;
  return { fraction: Math.min(percentage / 100, 1), rowsProcessed: Number(processed), rowsTotal: Number(total) };
}

function checkParamCount(expected: number, given: number): void {
  if (expected === given) return;
  throw new SqlRefusal({
    code: 'invalid_sql',
    message: `The SQL has ${counted(expected, 'parameter')}, but ${counted(given, 'value')} came with it.`,
    hint: 'Give one value for each parameter, in order.',
  });
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function parametersOf(prepared: DuckDBPreparedStatement): DuckType[] {
  return Array.from({ length: prepared.parameterCount }, (_, i) =>
    typeOr(prepared.parameterTypeId(i + 1), () => prepared.parameterType(i + 1)),
  );
}

/** After how many columns the event loop turns: DuckDB copies the types of all columns to return one. */
const YIELD_COLUMNS = 200;

async function columnsOf(prepared: DuckDBPreparedStatement): Promise<Columns> {
  const columns: Columns[number][] = [];
  for (let i = 0; i < prepared.columnCount; i++) {
    const type = typeOr(prepared.columnTypeId(i), () => prepared.columnType(i));
    columns.push({ name: prepared.columnName(i), type });
    if (i % YIELD_COLUMNS === YIELD_COLUMNS - 1) await setImmediate();
  }
  return columns;
}

function resultColumns(result: DuckDBResult): Columns {
  const names = result.columnNames();
  return result.columnTypes().map((type, i) => ({ name: names[i] ?? '', type: duckTypeOf(type) }));
}

/** A parameter of any possible type has none, and neither does a column computed from it. */
function typeOr(id: TypeId, type: () => DuckDBType): DuckType {
  return id === DuckDBTypeId.INVALID ? { name: 'INVALID' } : duckTypeOf(type());
}

const LAST_SEMICOLON = /;(?:\s|;|--[^\n]*(?:\n|$)|\/\*(?:[^*]|\*(?!\/))*\*\/)*$/;

/** Prepares a statement wrapped in another. If that fails, it may end with a semicolon: removes it and tries again. */
async function prepareWrapped(
  connection: DuckDBConnection,
  head: string,
  text: string,
  tail: string,
): Promise<DuckDBPreparedStatement> {
  // The statement may end with a line comment.
  const wrap = (inner: string): string => `${head}${inner}\n${tail}`;
  return connection.prepare(wrap(text)).catch(() => connection.prepare(wrap(text.replace(LAST_SEMICOLON, ''))));
}

/** Binds the parameters of a statement. DuckDB itself converts each text to its type. */
async function bindParams(
  connection: DuckDBConnection,
  prepared: DuckDBPreparedStatement,
  params: readonly SqlParam[],
): Promise<void> {
  for (const [i, { type, text }] of params.entries()) {
    if (text === null) prepared.bindNull(i + 1);
    else if (type === 'VARCHAR') prepared.bindVarchar(i + 1, text);
    else if (type === 'BASE64') prepared.bindBlob(i + 1, Buffer.from(text, 'base64'));
    else await bindAs(connection, prepared, i + 1, { type, text });
  }
}

async function bindAs(
  connection: DuckDBConnection,
  prepared: DuckDBPreparedStatement,
  index: number,
  { type, text }: SqlParam & { readonly text: string },
): Promise<void> {
  const cast = await connection.prepare(`SELECT CAST($1::VARCHAR AS ${type})`);
  cast.bindVarchar(1, text);
  const result = await cast.run();
  const [[value = null] = []] = await result.getRows();
  prepared.bindValue(index, value, result.columnType(0));
}

/** The columns of a result. */
type Columns = SqlResponses['prepare']['columns'];

/** The limit of one row: the server holds it in memory. */
export const MAX_ROW_BYTES = 64 * 1024 * 1024;
/** The limit of columns in a result, including nested ones. */
const MAX_COLUMNS = 10_000;

/** Refuses a result with too many columns, including nested ones: the server allocates memory for each. */
function checkColumnCount(count: number): void {
  if (count <= MAX_COLUMNS) return;
  throw new SqlRefusal({
    code: 'invalid_sql',
    message: `The result would have ${count} columns, but at most ${MAX_COLUMNS} are allowed.`,
    hint: 'Select only the columns you need.',
  });
}

/** Returns the columns, unless there are too many. */
function limitedColumns(columns: Columns): Columns {
  checkColumnCount(columns.reduce((sum, { type }) => sum + countTypes(type), 0));
  return columns;
}

function countTypes(type: DuckType): number {
  if ('item' in type) return 1 + countTypes(type.item);
  if ('key' in type) return 1 + countTypes(type.key) + countTypes(type.value);
  if ('fields' in type) return type.fields.reduce((sum, field) => sum + countTypes(field.type), 1);
  return 1;
}

/** The error of a row beyond `MAX_ROW_BYTES`. */
export function rowTooLarge(): SqlRefusal {
  return new SqlRefusal({
    code: 'invalid_sql',
    message: `A row of the result is larger than ${MAX_ROW_BYTES / 1024 ** 2} MiB.`,
    hint: 'Select parts of long texts and lists.',
  });
}

/** The connections of sessions, each with progress turned on. An idle one is used again. */
export interface SessionConnections {
  take(): Promise<DuckDBConnection>;
  /** Keeps an idle connection for the next session; closes one whose statement may still run. */
  release(connection: DuckDBConnection, isIdle: boolean): void;
}

/** Settings of a connection; no lock prevents them. They take longer than a new connection: hence the reuse. */
const TRACK_PROGRESS = 'PRAGMA enable_progress_bar; PRAGMA disable_print_progress_bar';

/** Creates the connections of an instance, none of them open. */
export function createSessionConnections(instance: DuckDBInstance): SessionConnections {
  let spare: DuckDBConnection | undefined;
  return {
    async take() {
      const found = spare;
      spare = undefined;
      if (found !== undefined) return found;
      const connection = await instance.connect();
      await connection.run(TRACK_PROGRESS);
      return connection;
    },
    release(connection, isIdle) {
      if (isIdle && spare === undefined) spare = connection;
      else connection.disconnectSync();
    },
  };
}
