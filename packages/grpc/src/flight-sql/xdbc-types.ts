import type { FrameStream } from '@svc/frames';
import { XDBC_TYPES_SCHEMA } from './metadata-schemas.ts';
import { smallTable } from './small-table.ts';

/** An SQL type in terms of XDBC. */
interface XdbcType {
  readonly name: string;
  /** The XDBC type code; negative codes are outside of its core. */
  readonly code: number;
  /** The most digits, characters or bytes of a value. */
  readonly size?: number;
  /** The prefix and suffix of literals, if they have any. */
  readonly literal?: readonly [prefix: string, suffix: string];
  readonly parameters?: readonly string[];
  readonly isNumber?: boolean;
  readonly isUnsigned?: boolean;
  readonly isFixedPoint?: boolean;
  readonly scale?: readonly [least: number, most: number];
  /** The general type and the subcode, for dates and times. */
  readonly time?: readonly [general: number, subcode: number];
  readonly isText?: boolean;
}

const QUOTES = ["'", "'"] as const;
const DATETIME = 9;
const INTERVAL = 10;

const TYPES: readonly XdbcType[] = [
  { name: 'BOOLEAN', code: -7, size: 1 },
  { name: 'TINYINT', code: -6, size: 3, isNumber: true },
  { name: 'BIGINT', code: -5, size: 19, isNumber: true },
  { name: 'UBIGINT', code: -5, size: 20, isNumber: true, isUnsigned: true },
  { name: 'BLOB', code: -3, literal: ["'", "'::BLOB"] },
  { name: 'VARCHAR', code: 12, literal: QUOTES, isText: true },
  { name: 'UUID', code: 1, size: 36, literal: ["'", "'::UUID"] },
  {
    name: 'DECIMAL',
    code: 3,
    size: 38,
    parameters: ['precision', 'scale'],
    isNumber: true,
    isFixedPoint: true,
    scale: [0, 38],
  },
  { name: 'HUGEINT', code: 2, size: 39, isNumber: true },
  { name: 'INTEGER', code: 4, size: 10, isNumber: true },
  { name: 'UINTEGER', code: 4, size: 10, isNumber: true, isUnsigned: true },
  { name: 'SMALLINT', code: 5, size: 5, isNumber: true },
  { name: 'USMALLINT', code: 5, size: 5, isNumber: true, isUnsigned: true },
  { name: 'UTINYINT', code: 5, size: 3, isNumber: true, isUnsigned: true },
  { name: 'FLOAT', code: 7, size: 24, isNumber: true },
  { name: 'DOUBLE', code: 8, size: 53, isNumber: true },
  { name: 'DATE', code: 91, size: 10, literal: ["DATE '", "'"], time: [DATETIME, 1] },
  { name: 'TIME', code: 92, size: 15, literal: ["TIME '", "'"], time: [DATETIME, 2] },
  { name: 'TIMESTAMP', code: 93, size: 26, literal: ["TIMESTAMP '", "'"], time: [DATETIME, 3] },
  { name: 'TIMESTAMP_NS', code: 93, size: 29, literal: ["TIMESTAMP_NS '", "'"], time: [DATETIME, 3] },
  { name: 'TIMESTAMP WITH TIME ZONE', code: 93, size: 32, literal: ["TIMESTAMPTZ '", "'"], time: [DATETIME, 5] },
  { name: 'INTERVAL', code: 10, literal: ["INTERVAL '", "'"], time: [INTERVAL, 110] },
];

/** Returns the XDBC types of columns, or only those with the given code. */
export function xdbcTypes(code: number | undefined): FrameStream {
  const wanted = TYPES.filter((type) => code === undefined || type.code === code);
  return smallTable(XDBC_TYPES_SCHEMA, wanted.toSorted(byCodeAndName).map(rowOf));
}

function byCodeAndName(a: XdbcType, b: XdbcType): number {
  return a.code - b.code || (a.name < b.name ? -1 : 1);
}

const NULLABLE = 1;
const SEARCHABLE_BASIC = 2;
const SEARCHABLE_FULL = 3;

function rowOf(type: XdbcType): readonly unknown[] {
  const { isNumber = false, isText = false } = type;
  const [general, subcode] = type.time ?? [type.code, null];
  return [
    type.name,
    type.code,
    type.size ?? null,
    type.literal?.[0] ?? null,
    type.literal?.[1] ?? null,
    type.parameters ?? null,
    NULLABLE,
    isText,
    isText ? SEARCHABLE_FULL : SEARCHABLE_BASIC,
    isNumber ? (type.isUnsigned ?? false) : null,
    type.isFixedPoint ?? false,
    isNumber ? false : null,
    type.name,
    type.scale?.[0] ?? null,
    type.scale?.[1] ?? null,
    general,
    subcode,
    isNumber ? radixOf(type) : null,
    null,
  ];
}

/** The radix in which the size of a number is counted. */
function radixOf({ name }: XdbcType): number {
  return name === 'FLOAT' || name === 'DOUBLE' ? 2 : 10;
}
