import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import {
  Bool,
  type DataType,
  DateDay,
  Decimal,
  Field,
  FixedSizeBinary,
  Float32,
  Float64,
  Int16,
  Int32,
  Int64,
  Int8,
  TimeMicrosecond,
  TimestampMicrosecond,
  TimestampNanosecond,
  Uint64,
  Utf8,
} from 'apache-arrow';
import { TYPE_METADATA_KEY } from './column-types.ts';

/** A column as a client declares it. */
export interface DeclaredColumn {
  readonly name: string;
  /** A type name, in any letter case (`LONG`, `decimal(18,4)`). Default: the type that fits all values. */
  readonly type?: string;
}

interface DeclaredType {
  readonly type: () => DataType;
  readonly metadata?: readonly (readonly [string, string])[];
}

/** The types of columns of a text format that a client can declare, and the Arrow types of their values. */
const DECLARED_TYPES: Readonly<Record<string, DeclaredType>> = {
  BOOLEAN: { type: () => new Bool() },
  BYTE: { type: () => new Int8() },
  SHORT: { type: () => new Int16() },
  INT: { type: () => new Int32() },
  LONG: { type: () => new Int64() },
  ULONG: { type: () => new Uint64() },
  LONG128: { type: () => new Decimal(0, 38, 128), metadata: [[TYPE_METADATA_KEY, 'LONG128']] },
  FLOAT: { type: () => new Float32() },
  DOUBLE: { type: () => new Float64() },
  STRING: { type: () => new Utf8() },
  SYMBOL: { type: () => new Utf8(), metadata: [[TYPE_METADATA_KEY, 'SYMBOL']] },
  DATE: { type: () => new DateDay() },
  TIMESTAMP: { type: () => new TimestampMicrosecond() },
  TIMESTAMP_NS: { type: () => new TimestampNanosecond() },
  TIME: { type: () => new TimeMicrosecond() },
  UUID: { type: () => new FixedSizeBinary(16), metadata: [['ARROW:extension:name', 'arrow.uuid']] },
};

const MAX_PRECISION = 38;

/** Returns the field of a column that is declared with a type. A type that cannot be declared is `invalid_argument`. */
export function declaredField(name: string, type: string): Field {
  const known = DECLARED_TYPES[type.toUpperCase()];
  if (known !== undefined) return new Field(name, known.type(), true, new Map(known.metadata));
  const [, precision, scale] = /^DECIMAL\((\d{1,2}), ?(\d{1,2})\)$/i.exec(type)?.map(Number) ?? [];
  const isDecimal = precision !== undefined && scale !== undefined && precision >= 1 && precision <= MAX_PRECISION;
  if (isDecimal && scale <= precision) return new Field(name, new Decimal(scale, precision, 128), true);
  throw new ServiceError('invalid_argument', `Column ${quoted(name)} cannot be declared as ${quoted(type)}.`, {
    hint: `Use one of: ${Object.keys(DECLARED_TYPES).join(', ')}, DECIMAL(p,s).`,
  });
}
