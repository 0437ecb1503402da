import type {
  DuckDBConnection,
  DuckDBInstance,
  DuckDBPreparedStatement,
  DuckDBResult,
  DuckDBType,
  DuckDBTypeId as TypeId,
} from '@duckdb/node-api';
import { checkColumnCount, type Columns, limitedColumns } from './result-limits.ts';
import { bindParams } from './bind-params.ts';
import { type RowStream, withoutRows } from '../files/row-stream.ts';
import { duckTypeOf } from '../columns/duck-type-of.ts';
import { DuckDBTypeId } from '../node-api.ts';
import type { DuckType } from '../../wire/duck-type.ts';
import type { CheckedSql } from './sql-check.ts';
import { SqlRefusal } from './sql-refusal.ts';
import type { SqlResponses, SqlParam } from '../../wire/sql-requests.ts';

/** One statement that was checked, on a connection of its own: a second one on it would end the first. */
export interface SqlSession {
  /** How many bytes further left something is in what is run than in what was asked. */
  readonly shift: number;
  /** Without values for parameters it is not run later. */
  prepare(params?: readonly SqlParam[]): Promise<SqlResponses['prepare']>;
  /** Runs it, with its columns cast where some are of types that cannot be read as they are. */
  run(casts?: readonly string[]): Promise<RowStream>;
  interrupt(): void;
  end(): void;
}

/** A session for a statement. */
export function createSqlSession(instance: DuckDBInstance, { text, shift }: CheckedSql): SqlSession {
  let connection: DuckDBConnection | undefined;
  let prepared: DuckDBPreparedStatement | undefined;
  /** Where it was begun to find out the types of its columns. */
  let begun: DuckDBResult | undefined;
  let values: readonly SqlParam[] = [];
  let shiftBytes = shift;

  return {
    get shift() {
      return shiftBytes;
    },
    async prepare(params) {
      connection = await instance.connect();
      prepared = await connection.prepare(text);
      checkColumnCount(prepared.columnCount);
      const parameters = parametersOf(prepared);
      if (params !== undefined) checkParamCount(parameters.length, params.length);
      if (params === undefined || params.length === 0) {
        return { columns: limitedColumns(columnsOf(prepared)), parameters };
      }
      values = params;
      await bindParams(connection, prepared, values);
      // The types of the columns are not known before the values of the parameters are.
      begun = await prepared.stream();
      return { columns: limitedColumns(resultColumns(begun)), parameters };
    },
    async run(casts) {
      if (connection === undefined || prepared === undefined) throw new Error('A statement is run unprepared.');
      const open = connection;
      const prepareIn = async (head: string, tail: string): Promise<DuckDBPreparedStatement> => {
        shiftBytes -= Buffer.byteLength(head);
        const wrapped = await prepareWrapped(open, head, text, tail);
        await bindParams(open, wrapped, values);
        return wrapped;
      };
      const explain = withoutRows('');
      if (casts === undefined) {
        return {
          result: begun ?? (await prepared.stream()),
          rerun: async () => (await prepareIn(explain, '')).run(),
        };
      }
      begun = undefined;
      const head = `SELECT ${casts.map((type, i) => (type === '' ? `c${i}` : `CAST(c${i} AS ${type})`)).join(', ')} FROM (`;
      const tail = `) AS answer(${casts.map((_, i) => `c${i}`).join(', ')})`;
      const wrapped = await prepareIn(head, tail);
      return {
        result: await wrapped.stream(),
        rerun: async () => {
          shiftBytes += Buffer.byteLength(head);
          return (await prepareIn(explain + head, tail)).run();
        },
      };
    },
    interrupt: () => connection?.interrupt(),
    end: () => connection?.disconnectSync(),
  };
}

function checkParamCount(expected: number, given: number): void {
  if (expected === given) return;
  throw new SqlRefusal({
    code: 'invalid_sql',
    message: `The SQL has ${counted(expected, 'parameter')}, and ${counted(given, 'value')} came with it.`,
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

function columnsOf(prepared: DuckDBPreparedStatement): Columns {
  return Array.from({ length: prepared.columnCount }, (_, i) => ({
    name: prepared.columnName(i),
    type: typeOr(prepared.columnTypeId(i), () => prepared.columnType(i)),
  }));
}

function resultColumns(result: DuckDBResult): Columns {
  const names = result.columnNames();
  return result.columnTypes().map((type, i) => ({ name: names[i] ?? '', type: duckTypeOf(type) }));
}

/** A parameter that could be anything has no type, and neither has a column that is made of it. */
function typeOr(id: TypeId, type: () => DuckDBType): DuckType {
  return id === DuckDBTypeId.INVALID ? { name: 'INVALID' } : duckTypeOf(type());
}

const LAST_SEMICOLON = /;(?:\s|;|--[^\n]*(?:\n|$)|\/\*(?:[^*]|\*(?!\/))*\*\/)*$/;

/** A statement inside of another. Only where that cannot be is there a semicolon at its end. */
async function prepareWrapped(
  connection: DuckDBConnection,
  head: string,
  text: string,
  tail: string,
): Promise<DuckDBPreparedStatement> {
  // What the statement ends with may be a comment.
  const wrap = (inner: string): string => `${head}${inner}\n${tail}`;
  return connection.prepare(wrap(text)).catch(() => connection.prepare(wrap(text.replace(LAST_SEMICOLON, ''))));
}
