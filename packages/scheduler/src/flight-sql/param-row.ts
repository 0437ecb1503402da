import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { FrameStream, SqlValue } from '@svc/frames';
import { decodeRowHere, declaredField } from '@svc/frames/internal';
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

/** Returns the values of parameters as a frame of one row. A text that does not fit its type is `invalid_argument`. */
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

/** The column types of SQL types that have another name. */
const COLUMN_TYPES: Readonly<Record<string, string>> = {
  BIGINT: 'LONG',
  INTEGER: 'INT',
  SMALLINT: 'SHORT',
  TINYINT: 'BYTE',
  UBIGINT: 'ULONG',
  HUGEINT: 'LONG128',
  VARCHAR: 'STRING',
};

/** SQL types that have the same name as their column type. */
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
