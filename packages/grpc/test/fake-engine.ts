import { onAbort, ServiceError } from '@svc/errors';
import { type Call, type Engine, type SqlValue, streamFromTable } from '@svc/frames';
import { Bool, Field, Int64, Null, Schema, Table, Utf8, vectorFromArray } from 'apache-arrow';

/** An engine that knows a few statements, and records its queries. */
export interface FakeEngine extends Engine {
  readonly asked: { readonly sql: string; readonly params: readonly SqlValue[]; readonly call: Call }[];
  /** The number of results that are not closed. */
  readonly openResults: () => number;
}

const FIELDS: Readonly<Record<string, Field>> = {
  'SELECT 1 AS one': new Field('one', new Int64(), true),
  'SELECT ? AS echo': new Field('echo', new Utf8(), true),
  'SELECT $1 IS NULL AS missing': new Field('missing', new Bool(), true),
  'SELECT ? AS same': new Field('same', new Utf8(), true),
  'SELECT fails': new Field('never', new Int64(), true),
  'SELECT slowly': new Field('never', new Int64(), true),
};

/**
 * Creates an engine for tests. `SELECT slowly` ends only when its call is cancelled, `SELECT fails` fails when it runs, and
 * the result of `SELECT ? AS same` has the type of the bound value.
 */
export function createFakeEngine(): FakeEngine {
  const asked: FakeEngine['asked'] = [];
  let open = 0;

  function tableOf(sql: string, params: readonly SqlValue[]): Table {
    const [first = null] = params;
    const field = resultField(sql, params);
    const text = typeof first === 'object' ? JSON.stringify(first) : String(first);
    const value = { one: 1n, echo: text, missing: first === null, same: first }[field.name];
    return new Table({ [field.name]: vectorFromArray([value], field.type) });
  }

  return {
    asked,
    openResults: () => open,
    async query(call, sql, { params = [] } = {}) {
      asked.push({ sql, params, call });
      if (sql === 'SELECT slowly') {
        await new Promise((_resolve, reject) => onAbort(call.signal, () => reject(call.signal.reason)));
      }
      if (sql === 'SELECT fails') throw new ServiceError('invalid_sql', 'The engine cannot convert a value.');
      const table = tableOf(sql, params);
      open++;
      return { ...streamFromTable(table), schema: new Schema([resultField(sql, params)]), close: () => void open-- };
    },
    async describe(_call, sql) {
      const count = sql.split(/\?|\$1/).length - 1;
      const parameters = Array.from({ length: count }, (_, i) => new Field(String(i + 1), new Null(), true));
      return { schema: new Schema([fieldOf(sql)]), parameters: new Schema(parameters) };
    },
    async close() {},
  };
}

function fieldOf(sql: string): Field {
  const field = FIELDS[sql.trim()];
  if (field === undefined) throw new ServiceError('invalid_sql', `The engine does not know ${sql}.`);
  return field;
}

function resultField(sql: string, [first]: readonly SqlValue[]): Field {
  const field = fieldOf(sql);
  return field.name === 'same' && typeof first === 'bigint' ? new Field('same', new Int64(), true) : field;
}
