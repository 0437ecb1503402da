import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { SqlValue } from '@svc/frames';
import { childrenOf, keyAndValueOf, typeOf } from '@svc/frames/columns';
import type { Partially, sparkConnect } from '@svc/proto';
import { DataType, type Field, Precision, type Schema, type Timestamp, TimeUnit, Type } from 'apache-arrow';
import type { BoundFrame, BoundStatement } from '../driver.ts';

/** What differs between the servers of Spark Connect. */
export interface Dialect {
  /** True if the name of a relation is SQL, to be quoted. */
  readonly quotesNames: boolean;
  /** True if files are read with the given schema, in place of their own. */
  readonly takesSchema: boolean;
  /** True if the name of a file is taken as it is, as by Hadoop. Else its escapes are decoded, as in any other URI. */
  readonly decodesUris: boolean;
  /** True if a missing file is an error, not an empty table. */
  readonly noticesMissingFiles: boolean;
}

/** Spark itself. */
export const SPARK: Dialect = { quotesNames: true, takesSchema: true, decodesUris: false, noticesMissingFiles: true };

/** Sail. */
export const SAIL: Dialect = { quotesNames: false, takesSchema: false, decodesUris: true, noticesMissingFiles: false };

/** What a server runs. */
export type Plan = Partially<sparkConnect.Relation>;

type Relation = Plan;
type Body = Omit<Relation, 'common'>;

/** No command parses inside parentheses. The line breaks end a comment. */
const OPEN = '(\n';
const CLOSE = '\n)';

/** The number of characters before the SQL of a statement in the plan. */
export const OPEN_LENGTH = OPEN.length;

/** Options of `planOf`. */
interface PlanOptions {
  readonly dialect: Dialect;
  /** The maximum number of rows. Default: all. */
  readonly limit?: number;
}

/**
 * Returns the plan of a statement over its frames. It names their files, so that no state of a session can change what
 * the statement reads.
 */
export function planOf({ sql, params, frames }: PlannedStatement, { dialect, limit }: PlanOptions): Plan {
  const number = numbering();
  const query = number({ sql: { query: `${OPEN}${sql}${CLOSE}`, posArguments: params.map(literalOf) } });
  const references = frames.map((frame) => number(referenceTo(frame, dialect, number)));
  const root = references.length === 0 ? query : number({ withRelations: { root: query, references } });
  return limit === undefined ? root : number({ limit: { input: root, limit } });
}

type PlannedStatement = Pick<BoundStatement, 'sql' | 'params' | 'frames'>;

/** Returns a relation of one row under an unusual name, and a query of it: a server accepts it in its own dialect alone. */
export function probePlan({ quotesNames }: Dialect): Plan {
  const number = numbering();
  const name = 'a-b';
  const input = number({ sql: { query: '(SELECT 1 AS x)' } });
  const alias = number({ subqueryAlias: { alias: quotesNames ? quoteName(name) : name, input } });
  const root = number({ sql: { query: `(SELECT x FROM ${quoteName(name)})` } });
  return number({ withRelations: { root, references: [alias] } });
}

function referenceTo({ name, uris, schema }: Reference, dialect: Dialect, number: Numbering): Body {
  const paths = dialect.decodesUris ? uris : uris.map((uri) => decodeURIComponent(uri));
  const dataSource = { format: 'parquet', paths, ...(dialect.takesSchema && { schema: ddlOf(schema) }) };
  const input = number({ read: { dataSource } });
  return { subqueryAlias: { alias: dialect.quotesNames ? quoteName(name) : name, input } };
}

type Reference = Pick<BoundFrame, 'name' | 'uris' | 'schema'>;
type Numbering = (body: Body) => Relation;

/** Gives each relation of a plan a number. */
function numbering(): Numbering {
  let next = 0n;
  return (body) => ({ common: { planId: next++ }, ...body });
}

type Expression = Partially<sparkConnect.Expression>;
type Literal = Partially<sparkConnect.ExpressionLiteral>;

/** Returns the literal of a parameter's value. */
export function literalOf(value: SqlValue): Expression {
  return { literal: plainLiteral(value) };
}

function plainLiteral(value: SqlValue): Literal {
  if (value === null) return { null: { null: {} } };
  if (typeof value === 'boolean') return { boolean: value };
  if (typeof value === 'bigint') return wholeNumber(value);
  if (typeof value === 'number') return Number.isSafeInteger(value) ? wholeNumber(BigInt(value)) : { double: value };
  // Half a character has no UTF-8, and the server would not read the message: it becomes U+FFFD.
  if (typeof value === 'string') return { string: Buffer.from(value).toString() };
  if (value instanceof Uint8Array) return { binary: value };
  return typedLiteral(value);
}

interface TypedText {
  readonly type: string;
  readonly text: string;
}

/** Spark takes only literals, so a text is converted here. */
function typedLiteral({ type, text }: TypedText): Literal {
  const [, name = '', precision, scale] =
    /^([A-Z_ ]+?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?$/.exec(type.trim().toUpperCase()) ?? [];
  const read = READERS.get(name);
  if (read === undefined) {
    throw new ServiceError(
      'invalid_argument',
      `A parameter of the type ${quoted(type)} cannot be sent to the scheduler.`,
      {
        hint: 'Bind it as a text, and cast it in the SQL.',
      },
    );
  }
  const literal = read(
    text.trim(),
    precision === undefined ? DEFAULT_DECIMAL : [Number(precision), Number(scale ?? 0)],
  );
  if (literal === undefined) {
    throw new ServiceError('invalid_sql', `The parameter ${quoted(text)} is not a value of the type ${type}.`);
  }
  return literal;
}

type DecimalType = readonly [precision: number, scale: number];
type Reader = (text: string, decimal: DecimalType) => Literal | undefined;

const DEFAULT_DECIMAL: DecimalType = [18, 3];
const MAX_PRECISION = 38;
const MAX_DECIMAL = 10n ** BigInt(MAX_PRECISION);

/** The readers of texts, by the name of the type. */
const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ...named(['BOOLEAN', 'BOOL'], readBoolean),
  ...named(['TINYINT', 'SMALLINT', 'INTEGER', 'INT', 'BIGINT', 'LONG', 'HUGEINT'], readWhole),
  ...named(['UTINYINT', 'USMALLINT', 'UINTEGER', 'UBIGINT', 'UHUGEINT'], readWhole),
  ...named(['DOUBLE', 'FLOAT', 'REAL'], readDouble),
  ...named(['DECIMAL', 'NUMERIC'], readDecimal),
  ...named(['VARCHAR', 'TEXT', 'STRING', 'CHAR', 'UUID'], (text) => ({ string: text })),
  ...named(['DATE'], readDate),
  ...named(['TIMESTAMP', 'TIMESTAMP_NTZ', 'TIMESTAMP_NS', 'DATETIME'], (text) => readTimestamp(text, 'timestampNtz')),
  ...named(['TIMESTAMPTZ', 'TIMESTAMP WITH TIME ZONE', 'TIMESTAMP_LTZ'], (text) => readTimestamp(text, 'timestamp')),
]);

function named(names: readonly string[], reader: Reader): [string, Reader][] {
  return names.map((name) => [name, reader]);
}

/** Returns the literal in its smallest type, as SQL does: LIMIT takes no BIGINT. */
function wholeNumber(value: bigint): Literal {
  if (BigInt.asIntN(32, value) === value) return { integer: Number(value) };
  if (BigInt.asIntN(64, value) === value) return { long: value };
  // Sail would move the decimal point.
  if (value >= MAX_DECIMAL || value <= -MAX_DECIMAL) {
    throw new ServiceError('invalid_argument', `The parameter ${value} has more than ${MAX_PRECISION} digits.`, {
      hint: 'Send it as a text.',
    });
  }
  return { decimal: { value: String(value), precision: MAX_PRECISION, scale: 0 } };
}

function readBoolean(text: string): Literal | undefined {
  const lower = text.toLowerCase();
  return lower === 'true' || lower === 'false' ? { boolean: lower === 'true' } : undefined;
}

function readWhole(text: string): Literal | undefined {
  return /^[+-]?\d{1,38}$/.test(text) ? wholeNumber(BigInt(text.replace('+', ''))) : undefined;
}

const SPECIAL_DOUBLES: ReadonlyMap<string, number> = new Map([
  ['nan', NaN],
  ['inf', Infinity],
  ['infinity', Infinity],
  ['-inf', -Infinity],
  ['-infinity', -Infinity],
]);

function readDouble(text: string): Literal | undefined {
  const special = SPECIAL_DOUBLES.get(text.toLowerCase());
  if (special !== undefined) return { double: special };
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? { double: Number(text) } : undefined;
}

/** Digits beyond the scale are an error: rounding is left to the SQL. */
function readDecimal(text: string, [precision, scale]: DecimalType): Literal | undefined {
  const [, sign, whole = '', fraction = ''] = /^([+-]?)(\d*)(?:\.(\d*))?$/.exec(text) ?? [];
  const digits = fraction.replace(/0+$/, '');
  const isNumber = sign !== undefined && whole.length + fraction.length > 0;
  if (!isNumber || digits.length > scale || precision > MAX_PRECISION) return undefined;
  const significant = whole.replace(/^0+/, '');
  if (significant.length > precision - scale) return undefined;
  const value = `${sign === '-' ? '-' : ''}${significant || '0'}${scale > 0 ? `.${digits.padEnd(scale, '0')}` : ''}`;
  return { decimal: { value, precision, scale } };
}

const DAY_MS = 86_400_000;

function readDate(text: string): Literal | undefined {
  const day = dayOf(/^(\d{4})-(\d{2})-(\d{2})$/.exec(text));
  return day === undefined ? undefined : { date: day };
}

/** Returns the days since 1970 of an existing day. */
function dayOf(match: RegExpExecArray | null): number | undefined {
  if (match === null) return undefined;
  const [year, month, date] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const at = new Date(0);
  at.setUTCFullYear(year, month - 1, date);
  const isReal = at.getUTCMonth() === month - 1 && at.getUTCDate() === date;
  return isReal ? at.getTime() / DAY_MS : undefined;
}

const TIMESTAMP =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?)?\s*(Z|[+-]\d{2}(?::?\d{2})?)?$/i;

function readTimestamp(text: string, kind: 'timestamp' | 'timestampNtz'): Literal | undefined {
  const match = TIMESTAMP.exec(text);
  const day = dayOf(match);
  if (match === null || day === undefined) return undefined;
  const [hours, minutes, seconds] = [Number(match[4] ?? 0), Number(match[5] ?? 0), Number(match[6] ?? 0)];
  const nanos = (match[7] ?? '').padEnd(9, '0');
  // Spark keeps microseconds.
  if (hours > 23 || minutes > 59 || seconds > 59 || !nanos.endsWith('000')) return undefined;
  const offset = offsetMinutes(match[8]);
  const wholeSeconds = day * 86_400 + hours * 3600 + (minutes - offset) * 60 + seconds;
  return { [kind]: BigInt(wholeSeconds) * 1_000_000n + BigInt(nanos.slice(0, 6)) };
}

function offsetMinutes(zone: string | undefined): number {
  const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone ?? '') ?? [];
  const size = Number(hours ?? 0) * 60 + Number(minutes ?? 0);
  return sign === '-' ? -size : size;
}

/**
 * Returns the columns of Parquet files as Spark declares them. Spark cannot infer all types of a file, but reads each as
 * the type that is given here.
 */
export function ddlOf(schema: Schema): string {
  return schema.fields.map((field) => `${quoteName(field.name)} ${typeDdl(field)}`).join(', ');
}

/** Quotes a name for Spark. */
function quoteName(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}

function typeDdl(field: Field): string {
  const type = typeOf(field);
  if (DataType.isInt(type)) return INTEGERS[`${type.isSigned}${type.bitWidth}`] ?? 'BIGINT';
  if (DataType.isFloat(type)) return type.precision === Precision.DOUBLE ? 'DOUBLE' : 'FLOAT';
  if (DataType.isDecimal(type)) return `DECIMAL(${type.precision}, ${type.scale})`;
  if (DataType.isTimestamp(type)) return timestampDdl(type);
  if (DataType.isStruct(type)) {
    return `STRUCT<${childrenOf(field)
      .map((child) => `${quoteName(child.name)}: ${typeDdl(child)}`)
      .join(', ')}>`;
  }
  if (DataType.isMap(type)) return `MAP<${keyAndValueOf(field).map(typeDdl).join(', ')}>`;
  const [item] = childrenOf(field);
  if (item !== undefined) return `ARRAY<${typeDdl(item)}>`;
  return PLAIN[type.typeId] ?? 'STRING';
}

/** Spark has no nanoseconds: a file's are read as their number since 1970. */
function timestampDdl({ unit, timezone }: Timestamp): string {
  if (unit === TimeUnit.NANOSECOND) return 'BIGINT';
  return timezone ? 'TIMESTAMP' : 'TIMESTAMP_NTZ';
}

/** Spark has no unsigned types: it reads them as the next larger one. */
const INTEGERS: Readonly<Record<string, string>> = {
  true8: 'TINYINT',
  true16: 'SMALLINT',
  true32: 'INT',
  true64: 'BIGINT',
  false8: 'SMALLINT',
  false16: 'INT',
  false32: 'BIGINT',
  false64: 'DECIMAL(20, 0)',
};

const PLAIN: Readonly<Partial<Record<Type, string>>> = {
  [Type.Bool]: 'BOOLEAN',
  [Type.Date]: 'DATE',
  // The number of microseconds since midnight.
  [Type.Time]: 'BIGINT',
  [Type.Binary]: 'BINARY',
  [Type.LargeBinary]: 'BINARY',
  [Type.BinaryView]: 'BINARY',
  [Type.FixedSizeBinary]: 'BINARY',
};
