import { DataType, type Field, IntervalUnit, Schema, TimeUnit } from 'apache-arrow';
import { createRecordBatch } from '../../packages/frames/src/columns/record-batch.ts';
import { encodeArrowStream } from '../../packages/frames/src/encode/arrow-stream.ts';
import { streamOfBatches } from '../../packages/frames/src/streams.ts';
import { bytesOf, SAMPLE_FRAMES } from '../../packages/frames/src/testing/index.ts';

/** Values that no Parquet file of the server can hold. */
const NOT_STORED = new Set(['timestamp s', 'timestamp ms', 'date64']);

/** A column of the frame. */
export interface TypedColumn {
  readonly sample: string;
  readonly field: Field;
  /** Returns a value as Arrow shows it. */
  readonly get: (row: number) => unknown;
  /** Returns a value as Arrow stores it. */
  readonly stored: (row: number) => unknown;
}

/** A frame with a column of every type, as Arrow; `isLeftOut` leaves out some. */
export async function frameOfEveryType(
  isLeftOut: (sample: string) => boolean,
): Promise<{ readonly bytes: Uint8Array; readonly columns: readonly TypedColumn[] }> {
  const samples = SAMPLE_FRAMES.filter(
    ({ name, schema, rows }) =>
      schema.fields.length === 1 && rows.length === ROWS && !NOT_STORED.has(name) && !isLeftOut(name),
  );
  const columns = samples.map(({ name, batches: [batch], schema: { fields } }, i) => ({
    sample: name,
    field: (fields[0] ?? raise()).clone({ name: `c${i}` }),
    get: (row: number): unknown => batch?.getChildAt(0)?.get(row),
    stored: (row: number): unknown => batch?.data.children[0]?.values[row],
  }));
  const schema = new Schema(columns.map(({ field }) => field));
  const data = samples.map(({ batches: [batch] }) => batch?.data.children[0] ?? raise());
  const batches = [createRecordBatch(schema, ROWS, data)];
  return { bytes: await bytesOf(encodeArrowStream(streamOfBatches(schema, batches))), columns };
}

/** The rows of each sample with one column. */
const ROWS = 19;

function raise(): never {
  throw new Error('The sample frames do not fit together.');
}

/** Returns the value that a cluster shows for one that the local engine shows; `hasTime`: it knows times of day. */
export function onCluster(
  { field, get, stored }: TypedColumn,
  { row, local, hasTime }: { readonly row: number; readonly local: unknown; readonly hasTime: boolean },
): unknown {
  if (local === null) return null;
  const { type }: { type: DataType } = field;
  if (DataType.isInterval(type)) return intervalOf(type.unit, get(row));
  if (DataType.isDuration(type)) return String(get(row));
  if (DataType.isTimestamp(type) && type.unit === TimeUnit.NANOSECOND) return String(stored(row));
  const isCount = DataType.isTime(type) && !(hasTime && type.unit !== TimeUnit.NANOSECOND);
  if (isCount) return String(BigInt(String(get(row))) * (STORED_FACTORS[type.unit] ?? 1n));
  // The server stores these as text, or as a flag.
  if (DataType.isDecimal(type) && type.scale < 0) return String(Number(local));
  if (DataType.isStruct(type) && type.children.length === 0) return false;
  return withBytes(field, local);
}

/** UUIDs are bytes on a cluster. */
function withBytes(field: Field, value: unknown): unknown {
  const type: DataType = DataType.isDictionary(field.type) ? field.type.dictionary : field.type;
  if (DataType.isFixedSizeBinary(type) && typeof value === 'string' && value.includes('-')) {
    return Buffer.from(value.replaceAll('-', ''), 'hex').toString('base64');
  }
  const [item]: readonly Field[] = type.children ?? [];
  const isList = item !== undefined && Array.isArray(value) && !DataType.isMap(type);
  return isList ? value.map((one: unknown) => withBytes(item, one)) : value;
}

function intervalOf(unit: IntervalUnit, value: unknown): unknown {
  if (!(value instanceof Int32Array)) return raise();
  const [first = 0, second = 0, low = 0, high = 0] = value;
  if (unit === IntervalUnit.YEAR_MONTH) return { months: first * 12 + second, days: 0, nanos: '0' };
  if (unit === IntervalUnit.DAY_TIME) return { months: 0, days: first, nanos: String(BigInt(second) * 1_000_000n) };
  return { months: first, days: second, nanos: String((BigInt(high) << 32n) | BigInt(low >>> 0)) };
}

/** Times of day in seconds or milliseconds are stored as microseconds. */
const STORED_FACTORS: Readonly<Record<number, bigint>> = {
  [TimeUnit.SECOND]: 1_000_000n,
  [TimeUnit.MILLISECOND]: 1000n,
};

/** Makes values comparable whose types differ only in how JSON quotes numbers. */
export function unquoted(value: unknown): unknown {
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) return value.map(unquoted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, unquoted(one)]));
}
