import {
  Binary,
  DataType,
  DateDay,
  Decimal,
  Field,
  Float,
  Int,
  Precision,
  Time,
  Timestamp,
  TimeUnit,
  Utf8,
} from 'apache-arrow';
import { hasDictionary, typeOf, valueTypeOf } from '../../arrow-types.ts';
import { columnTypeName, TYPE_METADATA_KEY } from '../../column-types.ts';
import { isSameType } from '../../columns/match-columns.ts';

/** The most digits of a decimal in SQL. */
const MAX_DIGITS = 38;

/**
 * Returns the field for values of several fields: that of the type which `UNION ALL` has in DuckDB. Undefined if that type
 * changes values, as an integer among texts, or a decimal among floating-point numbers.
 */
export function commonField(fields: readonly Field[]): Field | undefined {
  const [first] = fields;
  if (first === undefined) return undefined;
  if (fields.every((field) => !hasDictionary(field) && isIdentical(first, field))) return first;
  const types = fields.map(plainType);
  const type = commonType(types);
  if (type === undefined || fields.some((field) => columnTypeName(field) === 'UUID')) return undefined;
  const isLong128 = DataType.isDecimal(type) && !types.some((other) => DataType.isDecimal(other) && other.scale > 0);
  return new Field('', type, true, isLong128 && type.precision === MAX_DIGITS ? LONG128 : new Map<string, string>());
}

const LONG128 = new Map([[TYPE_METADATA_KEY, 'LONG128']]);

/** Whether the values of two fields have the same buffers and the same meaning. */
export function isIdentical(a: Field, b: Field): boolean {
  return typeOf(a).typeId === typeOf(b).typeId && isSameType(a, b) && isSameType(b, a);
}

/** Returns the type of the values, also of those in a dictionary. */
function plainType(field: Field): DataType {
  const type = typeOf(field);
  return DataType.isDictionary(type) ? valueTypeOf(type) : type;
}

function commonType(types: readonly DataType[]): DataType | undefined {
  if (types.every(isText)) return new Utf8();
  if (types.every(isBytes)) return new Binary();
  if (types.every((type) => DataType.isDate(type))) return new DateDay();
  if (types.every((type) => DataType.isTime(type))) return finestTime(types.map(({ unit }) => unit));
  if (types.every(isDay)) return finestTimestamp(types);
  if (types.every((type) => DataType.isTimestamp(type))) return finestTimestamp(types);
  if (types.every((type) => DataType.isInt(type))) return commonInteger(types);
  if (types.every((type) => DataType.isInt(type) || DataType.isFloat(type))) return commonFloat(types);
  return types.every((type) => DataType.isInt(type) || DataType.isDecimal(type)) ? commonDecimal(types) : undefined;
}

function isText(type: DataType): boolean {
  return DataType.isUtf8(type) || DataType.isLargeUtf8(type) || DataType.isUtf8View(type);
}

function isBytes(type: DataType): boolean {
  const isVariable = DataType.isBinary(type) || DataType.isLargeBinary(type) || DataType.isBinaryView(type);
  return isVariable || DataType.isFixedSizeBinary(type);
}

/** A timestamp without a zone is a local time, as a date is. */
function isDay(type: DataType): boolean {
  return DataType.isDate(type) || (DataType.isTimestamp(type) && !type.timezone);
}

const FINE_UNITS = [TimeUnit.NANOSECOND, TimeUnit.MICROSECOND, TimeUnit.MILLISECOND];

function finest(units: readonly TimeUnit[]): TimeUnit {
  return FINE_UNITS.find((unit) => units.includes(unit)) ?? TimeUnit.SECOND;
}

function finestTime(units: readonly TimeUnit[]): Time {
  const unit = finest(units);
  return new Time(unit, unit === TimeUnit.MICROSECOND || unit === TimeUnit.NANOSECOND ? 64 : 32);
}

/** Undefined if only some of the timestamps have a zone: SQL would use that of the session. */
function finestTimestamp(types: readonly DataType[]): Timestamp | undefined {
  const stamps = types.filter((type) => DataType.isTimestamp(type));
  const zones = new Set(stamps.map(({ timezone }) => Boolean(timezone)));
  return zones.size === 1 ? new Timestamp(finest(stamps.map(({ unit }) => unit)), stamps[0]?.timezone) : undefined;
}

function commonInteger(types: readonly Int[]): DataType {
  const isSigned = types.some((type) => type.isSigned);
  // A signed type for unsigned values has twice their bits.
  const bits = Math.max(...types.map((type) => (type.isSigned === isSigned ? type.bitWidth : 2 * type.bitWidth)));
  if (bits === 8 || bits === 16 || bits === 32 || bits === 64) return new Int(isSigned, bits);
  return new Decimal(0, MAX_DIGITS, 128);
}

function commonFloat(types: readonly (Float | Int)[]): Float {
  const precisions = types.flatMap((type) => (DataType.isFloat(type) ? type.precision : []));
  return new Float(precisions.includes(Precision.DOUBLE) ? Precision.DOUBLE : Precision.SINGLE);
}

function commonDecimal(types: readonly (Decimal | Int)[]): Decimal | undefined {
  const scales = types.map((type) => (DataType.isDecimal(type) ? type.scale : 0));
  const scale = Math.max(...scales);
  const whole = Math.max(
    ...types.map((type) => (DataType.isDecimal(type) ? type.precision - type.scale : digitsOf(type))),
  );
  const isHeld = scale + whole <= MAX_DIGITS && Math.min(...scales) >= 0;
  return isHeld ? new Decimal(scale, scale + whole, 128) : undefined;
}

/** Returns the most digits of an integer. */
function digitsOf({ bitWidth, isSigned }: Int): number {
  const most = isSigned ? 2n ** BigInt(bitWidth - 1) : 2n ** BigInt(bitWidth) - 1n;
  return `${most}`.length;
}
