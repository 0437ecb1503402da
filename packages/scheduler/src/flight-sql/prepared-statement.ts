import { setTimeout } from 'node:timers/promises';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { FrameStream, SqlValue } from '@svc/frames';
import { declaredField } from '@svc/frames/columns';
import { decodeRowHere, encodeArrowMessages } from '@svc/frames/ipc';
import { flight, flightSql, packFlightSql } from '@svc/proto';
import {
  Binary,
  Bool,
  type Data,
  Field,
  Float64,
  Int32,
  Int64,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  TimestampMicrosecond,
  Utf8,
} from 'apache-arrow';
import { rememberSuccess, schedulerFailed } from '../driver.ts';
import { type CallScope, type Connection, preparedQuery, schemaOf, unpack } from './connection.ts';
import { isUnimplemented } from './status-error.ts';

/** A prepared statement on the server. The caller must close it. */
export interface PreparedStatement {
  /** The columns of the result, if the server knows them before it runs. */
  readonly schema: Schema | undefined;
  /** Binds values, and returns the descriptor of the query. */
  bind(scope: CallScope, params: readonly SqlValue[]): Promise<flight.FlightDescriptor>;
  close(scope: CallScope): Promise<void>;
}

/** Prepares a statement. */
export async function prepareStatement(
  connection: Connection,
  scope: CallScope,
  query: string,
): Promise<PreparedStatement> {
  const request = flightSql.ActionCreatePreparedStatementRequest.encode({ query, transactionId: undefined });
  const created = await act(connection, scope, {
    type: 'CreatePreparedStatement',
    body: packFlightSql('ActionCreatePreparedStatementRequest', request.finish()),
  }).catch((error: unknown) => {
    throw isUnimplemented(error) ? noParameters(error) : error;
  });
  if (created === undefined) throw schedulerFailed('The scheduler prepared a statement without an answer.');
  const answer = flightSql.ActionCreatePreparedStatementResult.decode(unpack(created));
  let handle = answer.preparedStatementHandle;
  return {
    schema: schemaOf(answer.datasetSchema),
    async bind(bindScope, params) {
      // Stateless servers put the values into the handle, and answer with a new one.
      const replaced = await putParams(connection, bindScope, { handle, params });
      if (replaced.length > 0) handle = replaced;
      return preparedQuery(handle);
    },
    async close(closeScope) {
      const message = flightSql.ActionClosePreparedStatementRequest.encode({ preparedStatementHandle: handle });
      const body = packFlightSql('ActionClosePreparedStatementRequest', message.finish());
      await act(connection, closeScope, { type: 'ClosePreparedStatement', body });
    },
  };
}

/** Runs an action, and returns the body of its first result. */
function act(connection: Connection, scope: CallScope, action: flight.Action): Promise<Uint8Array | undefined> {
  return connection.call(scope, async (client, options) => {
    let first: Uint8Array | undefined;
    for await (const { body } of client.doAction(action, options)) first ??= body;
    return first;
  });
}

async function putParams(
  connection: Connection,
  scope: CallScope,
  { handle, params }: { readonly handle: Uint8Array; readonly params: readonly SqlValue[] },
): Promise<Uint8Array> {
  const row = await paramRow(params);
  async function* messages() {
    let flightDescriptor: flight.FlightDescriptor | undefined = preparedQuery(handle);
    for await (const { header, body } of encodeArrowMessages(row)) {
      yield { flightDescriptor, dataHeader: header, dataBody: Buffer.concat(body) };
      flightDescriptor = undefined;
    }
  }
  return connection.call(scope, async (client, options) => {
    let replaced: Uint8Array = new Uint8Array(0);
    for await (const { appMetadata } of client.doPut(messages(), options)) {
      if (appMetadata.length > 0) {
        replaced = flightSql.DoPutPreparedStatementResult.decode(appMetadata).preparedStatementHandle ?? replaced;
      }
    }
    return replaced;
  });
}

function noParameters(cause: unknown): Error {
  return schedulerFailed('The scheduler has no prepared statements, which parameters need.', {
    hint: 'Write the values into the SQL, or use another engine.',
    cause,
  });
}

/** Returns the values of parameters as a frame of one row. A text of another type is `invalid_argument`. */
export async function paramRow(params: readonly SqlValue[]): Promise<FrameStream> {
  const columns = await Promise.all(params.map((value, i) => columnOf(value, String(i + 1))));
  const schema = new Schema(columns.map(({ field }) => field));
  const children = columns.map(({ data }) => data);
  const batch = new RecordBatch(
    schema,
    makeData({ type: new Struct(schema.fields), length: 1, nullCount: 0, children }),
  );
  return {
    schema,
    batches: (async function* () {
      yield batch;
    })(),
  };
}

interface ParamColumn {
  readonly field: Field;
  readonly data: Data;
}

async function columnOf(value: SqlValue, name: string): Promise<ParamColumn> {
  if (value === null) return read(new Field(name, new Utf8(), true), null);
  if (typeof value === 'boolean') return read(new Field(name, new Bool(), true), value);
  if (typeof value === 'string') return read(new Field(name, new Utf8(), true), value);
  if (typeof value === 'number') return numberColumn(value, name);
  if (typeof value === 'bigint') {
    const isLong = BigInt.asIntN(64, value) === value;
    return read(declaredField(name, isLong ? 'LONG' : 'LONG128'), String(value));
  }
  if (value instanceof Uint8Array) {
    return read(new Field(name, new Binary(), true), Buffer.from(value).toString('base64'));
  }
  return textColumn(value, name);
}

/** A whole number is an integer of the size of a literal in SQL: not every engine adds a long to a date. */
async function numberColumn(value: number, name: string): Promise<ParamColumn> {
  if (!Number.isSafeInteger(value) || Object.is(value, -0)) return doubleColumn(value, name);
  const isInt = (value | 0) === value;
  return read(new Field(name, isInt ? new Int32() : new Int64(), true), value);
}

function doubleColumn(value: number, name: string): ParamColumn {
  const data = makeData({ type: new Float64(), length: 1, nullCount: 0, data: Float64Array.of(value) });
  return { field: new Field(name, new Float64(), true), data };
}

/** The column types of SQL types with another name. */
const COLUMN_TYPES: Readonly<Record<string, string>> = {
  BIGINT: 'LONG',
  INTEGER: 'INT',
  SMALLINT: 'SHORT',
  TINYINT: 'BYTE',
  UBIGINT: 'ULONG',
  HUGEINT: 'LONG128',
  VARCHAR: 'STRING',
};

/** SQL types with the name of their column type. */
const SAME_NAMES = /^(?:DATE|TIME|TIMESTAMP|TIMESTAMP_NS|UUID|DECIMAL\(\d{1,2}, ?\d{1,2}\))$/;

async function textColumn({ type, text }: { readonly type: string; readonly text: string }, name: string) {
  const known = type.trim().toUpperCase();
  if (known === 'DOUBLE' || known === 'FLOAT') return doubleColumn(numberFrom(text, type), name);
  if (known === 'BOOLEAN') return read(new Field(name, new Bool(), true), text === 'true');
  if (known === 'TIMESTAMPTZ') return read(new Field(name, new TimestampMicrosecond('UTC'), true), text);
  const declared = COLUMN_TYPES[known] ?? (SAME_NAMES.test(known) ? known : undefined);
  // Of other types the engine gets the text, and converts it as it does a literal.
  return read(declaredField(name, declared ?? 'STRING'), text);
}

function numberFrom(text: string, type: string): number {
  const word = text.trim().toLowerCase();
  const value = Number(word.replace(/^([+-]?)inf$/, '$1Infinity').replace('infinity', 'Infinity'));
  if (word !== '' && (!Number.isNaN(value) || word === 'nan')) return value;
  throw doesNotFit(text, type);
}

async function read(field: Field, json: unknown): Promise<ParamColumn> {
  try {
    const { batches } = await decodeRowHere(new Schema([field]), [json]);
    for await (const batch of batches) {
      const [data] = batch.data.children;
      if (data !== undefined) return { field, data };
    }
  } catch (cause) {
    if (!(cause instanceof ServiceError)) throw cause;
    throw doesNotFit(String(json), `${field.type}`, cause);
  }
  throw new Error('A row has no batch.');
}

function doesNotFit(text: string, type: string, cause?: unknown): ServiceError {
  return new ServiceError('invalid_argument', `The parameter ${quoted(text)} is not a value of the type ${type}.`, {
    hint: 'Correct the value, or give it as a text and cast it in the SQL.',
    cause,
  });
}

/** Cancels a query on the server. Resolves when the server has confirmed it; false if it cannot. */
export type CancelFlight = (scope: CallScope, info: flight.FlightInfo) => Promise<boolean>;

/** Creates the function to cancel queries on a server, in a way of that server. */
export function createCancelFlight(connection: Connection): CancelFlight {
  const actions = rememberSuccess((scope: CallScope) => listActions(connection, scope));

  return async (scope, info) => {
    const names = await actions.get(scope);
    const cancel = WAYS.find(({ action }) => names.has(action));
    if (cancel === undefined) return false;
    for (;;) {
      const answer = await act(connection, scope, { type: cancel.action, body: cancel.encode(info) });
      const state = answer === undefined ? 'done' : cancel.decode(answer);
      if (state !== 'cancelling') return state === 'done';
      await setTimeout(RETRY_MS, undefined, { signal: scope.signal });
    }
  };
}

const RETRY_MS = 100;

interface Way {
  readonly action: string;
  encode(info: flight.FlightInfo): Uint8Array;
  decode(answer: Uint8Array): 'done' | 'cancelling' | 'impossible';
}

/** The second one is for servers before Flight 13. */
const WAYS: readonly Way[] = [
  {
    action: 'CancelFlightInfo',
    encode: (info) => flight.CancelFlightInfoRequest.encode({ info }).finish(),
    decode(answer) {
      const { status } = flight.CancelFlightInfoResult.decode(answer);
      if (status === flight.CancelStatus.CANCEL_STATUS_CANCELLING) return 'cancelling';
      // An ended query cannot be cancelled.
      return status === flight.CancelStatus.CANCEL_STATUS_UNSPECIFIED ? 'impossible' : 'done';
    },
  },
  {
    action: 'CancelQuery',
    encode(info) {
      const request = flightSql.ActionCancelQueryRequest.encode({ info: flight.FlightInfo.encode(info).finish() });
      return packFlightSql('ActionCancelQueryRequest', request.finish());
    },
    decode(answer) {
      const { result } = flightSql.ActionCancelQueryResult.decode(unpack(answer));
      const { CANCEL_RESULT_CANCELLING, CANCEL_RESULT_UNSPECIFIED } = flightSql.ActionCancelQueryResultCancelResult;
      if (result === CANCEL_RESULT_CANCELLING) return 'cancelling';
      return result === CANCEL_RESULT_UNSPECIFIED ? 'impossible' : 'done';
    },
  },
];

function listActions(connection: Connection, scope: CallScope): Promise<ReadonlySet<string>> {
  return connection.call(scope, async (client, options) => {
    const names = new Set<string>();
    for await (const { type } of client.listActions({}, options)) names.add(type);
    return names;
  });
}
