import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { columnTypeName, encodeJsonTable, type FrameStream, type SqlValue } from '@svc/frames';
import { createYield } from '@svc/frames/async';
import { type Data, DataType, type Field, type RecordBatch, TimeUnit, Vector } from 'apache-arrow';
import { castType, elementOf } from './column-metadata.ts';

/** Reads the one row of values bound to the parameters of a statement. */
export async function boundParams(stream: FrameStream): Promise<readonly SqlValue[]> {
  const batches: RecordBatch[] = [];
  for await (const batch of stream.batches) if (batch.numRows > 0) batches.push(batch);
  const rows = batches.reduce((sum, batch) => sum + batch.numRows, 0);
  const [batch] = batches;
  if (batch === undefined || rows !== 1) {
    throw new ServiceError('invalid_argument', `${rows} rows of parameters were bound, but a statement takes one.`, {
      hint: 'Bind one row at a time, and run the statement for each.',
    });
  }
  checkSize(batch);
  const texts = await jsonRow({ schema: stream.schema, batches: onlyBatch(batch) });
  const turn = createYield();
  const params: SqlValue[] = [];
  for (const [i, field] of stream.schema.fields.entries()) {
    params.push(await valueOf(field, batch.getChildAt(i)?.get(0), texts[i], turn));
    await turn();
  }
  return params;
}

/** The most bytes, and the most values in lists, of one row: it is encoded in one step. */
const MAX_ROW_BYTES = 1024 ** 2;
const MAX_VALUES = 100_000;

function checkSize({ data }: RecordBatch): void {
  const { byteLength } = data;
  const values = valuesIn(data);
  if (byteLength <= MAX_ROW_BYTES && values <= MAX_VALUES) return;
  throw new ServiceError(
    'payload_too_large',
    `The bound row has ${byteLength} bytes and ${values} values, but a statement takes at most ${MAX_ROW_BYTES} and ${MAX_VALUES}.`,
    { hint: 'Put large values into a frame, and join it.' },
  );
}

function valuesIn(data: Data): number {
  return data.children.reduce((sum, child) => sum + valuesIn(child), data.length);
}

type Turn = ReturnType<typeof createYield>;

/** The message of a column whose type no frame can have, such as a list of unions. */
const REFUSED_COLUMN = /^Column (?<rest>.*, which this server does not support\.)$/s;

/** Returns the error of unreadable values. For a type no frame can have, it is in the words of parameters. */
export function parameterError(error: unknown): unknown {
  const rest = error instanceof ServiceError ? REFUSED_COLUMN.exec(error.message)?.groups?.['rest'] : undefined;
  if (rest === undefined) return error;
  return new ServiceError('invalid_argument', `Parameter ${rest}`, {
    hint: 'Bind it in a column of one type, or as a text that the SQL casts. Run the statement once for the values of each type.',
    cause: error,
  });
}

async function* onlyBatch(batch: RecordBatch): AsyncGenerator<RecordBatch, void, undefined> {
  yield batch;
}

/** Encodes the row as JSON: it writes every value exactly. */
async function jsonRow(stream: FrameStream): Promise<readonly unknown[]> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of encodeJsonTable(stream, { query: '', quoteLargeNum: true })) chunks.push(chunk);
  const table: unknown = JSON.parse(Buffer.concat(chunks).toString());
  if (!hasRow(table)) throw new Error('The encoded row is missing.');
  return table.dataset[0];
}

function hasRow(table: unknown): table is { readonly dataset: readonly [readonly unknown[]] } {
  if (typeof table !== 'object' || table === null || !('dataset' in table)) return false;
  return Array.isArray(table.dataset) && Array.isArray(table.dataset[0]);
}

/** Returns the value of a parameter. `value` is as Arrow has it, and `json` as JSON. */
async function valueOf(field: Field, value: unknown, json: unknown, turn: Turn): Promise<SqlValue> {
  if (value === null || value === undefined) return null;
  if (value instanceof Vector && Array.isArray(json)) return listOf(field, value, json, turn);
  // JSON has no NaN.
  if (DataType.isFloat(field.type) && typeof value === 'number') return { type: 'DOUBLE', text: floatText(value) };
  if (typeof json === 'boolean' || typeof json === 'number') return json;
  const name = columnTypeName(field) ?? '';
  if (typeof json !== 'string') throw notBindable(field);
  if (name === 'STRING' || name === 'SYMBOL') return json;
  if (name === 'LONG' || name === 'ULONG' || name === 'LONG128') return BigInt(json);
  if (name === 'BINARY') return Buffer.from(json, 'base64');
  if (name === 'DATE') return { type: name, text: json.replace(/T.*/, '') };
  if (name === 'TIMESTAMP') return { type: hasZone(field) ? 'TIMESTAMPTZ' : name, text: json };
  if (name === 'TIME' && typeof value === 'bigint') checkMicroseconds(field, value, json);
  if (SAME_NAMES.has(name) || name.startsWith('DECIMAL')) return { type: name, text: json };
  throw notBindable(field);
}

/** Writes a list as SQL casts it from a text. */
async function listOf(field: Field, values: Vector, json: readonly unknown[], turn: Turn): Promise<SqlValue> {
  const element = elementOf(field);
  const texts: string[] = [];
  for (const [i, item] of json.entries()) {
    texts.push(elementText(await valueOf(element, values.get(i), item, turn)));
    await turn();
  }
  return { type: castType(field), text: `[${texts.join(', ')}]` };
}

function elementText(value: SqlValue): string {
  if (value === null) return 'NULL';
  if (typeof value === 'boolean' || typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (value instanceof Uint8Array) return `"${blobText(value)}"`;
  if (typeof value === 'string') return quotedElement(value);
  return value.type.endsWith('[]') ? value.text : quotedElement(value.text);
}

/** Writes bytes as DuckDB casts them from a text in quotes, each as `\\xAB`. */
function blobText(bytes: Uint8Array): string {
  const text = Buffer.alloc(BYTE_TEXT.length * bytes.length, BYTE_TEXT, 'latin1');
  let at = BYTE_TEXT.length - 2;
  for (const byte of bytes) {
    text[at] = DIGITS.charCodeAt(byte >> 4);
    text[at + 1] = DIGITS.charCodeAt(byte & 15);
    at += BYTE_TEXT.length;
  }
  return text.toString('latin1');
}

const BYTE_TEXT = String.raw`\\x00`;
const DIGITS = '0123456789abcdef';

function quotedElement(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** Types with the same name and text form in SQL. */
const SAME_NAMES: ReadonlySet<string> = new Set(['TIME', 'TIMESTAMP_NS', 'UUID']);

/** Refuses nanoseconds: SQL would truncate them. */
function checkMicroseconds({ name, type }: Field, value: bigint, text: string): void {
  const isCut = DataType.isTime(type) && type.unit === TimeUnit.NANOSECOND && value % 1000n !== 0n;
  if (!isCut) return;
  throw new ServiceError(
    'invalid_argument',
    `Parameter ${quoted(name)} is a time with nanoseconds, ${value} ns after midnight (${text}), and SQL keeps microseconds.`,
    { hint: 'Round it to microseconds.' },
  );
}

function floatText(value: number): string {
  if (Number.isFinite(value) || Number.isNaN(value)) return String(value);
  return value > 0 ? 'inf' : '-inf';
}

function hasZone({ type }: Field): boolean {
  return DataType.isTimestamp(type) && typeof type.timezone === 'string' && type.timezone !== '';
}

function notBindable({ name, type }: Field): ServiceError {
  return new ServiceError(
    'invalid_argument',
    `Parameter ${quoted(name)} is of the Arrow type ${type}, which cannot be bound.`,
    {
      hint: 'Bind it as a text, and cast it in the SQL.',
    },
  );
}
