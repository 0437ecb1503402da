import { TYPE_METADATA_KEY } from '@svc/arrow';
import {
  Bool,
  Decimal,
  Float16,
  Float32,
  Float64,
  Int16,
  Int32,
  Int64,
  Int8,
  Uint16,
  Uint32,
  Uint64,
  Uint8,
} from 'apache-arrow';
import { bits, decimals, longs, numbers } from './column-builders.ts';
import { bare, both, NULL, type SampleCell, sampleColumn, type SampleColumn, text } from './sample-frame.ts';

const digits = <N extends number | bigint>(...values: (N | null)[]): (readonly [N | null, SampleCell])[] =>
  values.map((value) => [value, value === null ? NULL : bare(String(value))]);
const decimal = (scale: number, precision: number, bitWidth: number, ...values: [bigint | null, SampleCell][]) =>
  sampleColumn(`DECIMAL(${precision},${scale})`, new Decimal(scale, precision, bitWidth), decimals, values);
const notFinite: (readonly [number, SampleCell])[] = [
  [Number.NaN, both('null', 'NaN')],
  [Infinity, both('null', 'Infinity')],
  [-Infinity, both('null', '-Infinity')],
];
const NINES = 10n ** 38n - 1n;

/** Booleans and numbers. */
export const NUMBER_COLUMNS: Readonly<Record<string, SampleColumn>> = {
  bool: sampleColumn('BOOLEAN', new Bool(), bits, [
    [true, bare('true')],
    [false, bare('false')],
    [null, NULL],
  ]),
  int8: sampleColumn('BYTE', new Int8(), numbers, digits(-128, 127, null, 0)),
  int16: sampleColumn('SHORT', new Int16(), numbers, digits(-32768, 32767, null, 0)),
  uint8: sampleColumn('SHORT', new Uint8(), numbers, digits(255, null, 0)),
  int32: sampleColumn('INT', new Int32(), numbers, digits(-2147483648, 2147483647, null, 0)),
  uint16: sampleColumn('INT', new Uint16(), numbers, digits(65535, null, 0)),
  int64: sampleColumn('LONG', new Int64(), longs, digits(2n ** 53n + 1n, -(2n ** 63n), 2n ** 63n - 1n, null, 0n, -1n)),
  uint32: sampleColumn('LONG', new Uint32(), numbers, digits(4294967295, null, 0)),
  uint64: sampleColumn('ULONG', new Uint64(), longs, digits(2n ** 64n - 1n, null, 0n, 2n ** 53n)),
  'without a null': sampleColumn('INT', new Int32(), numbers, digits(1, 2, 3), { nullable: false }),
  int128: sampleColumn(
    'LONG128',
    new Decimal(0, 38, 128),
    decimals,
    digits(2n ** 127n - 1n, -(2n ** 127n), null, 0n, -1n, 2n ** 53n, -(2n ** 63n), 12n),
    { metadata: { [TYPE_METADATA_KEY]: 'LONG128' }, readText: (json) => (json === 'null' ? json : `"${json}"`) },
  ),
  float16: sampleColumn('FLOAT', new Float16(), numbers, [
    [0x3c00, bare('1')],
    [0xc000, bare('-2')],
    [0x0001, bare('5.9604645e-8')],
    [0x7bff, bare('65504')],
    [null, NULL],
    [0x7e00, both('null', 'NaN')],
    [0x7c00, both('null', 'Infinity')],
    [0xfc00, both('null', '-Infinity')],
  ]),
  float32: sampleColumn('FLOAT', new Float32(), numbers, [
    ...digits(0.1, 16777216, null, -1.5, 0),
    [-0, bare('-0')],
    [3.4028234663852886e38, bare('3.4028235e+38')],
    [1.401298464324817e-45, bare('1e-45')],
    [1.1754943508222875e-38, bare('1.1754944e-38')],
    ...notFinite,
  ]),
  float64: sampleColumn('DOUBLE', new Float64(), numbers, [
    ...digits(0.1, 1, -2.5, null, 1e21, 5e-324, 1234567.123456, 0.30000000000000004, 1.7976931348623157e308),
    [-0, bare('-0')],
    ...notFinite,
  ]),
  decimal32: decimal(
    2,
    9,
    32,
    [110n, text('1.10')],
    [-5n, text('-0.05')],
    [0n, text('0.00')],
    [null, NULL],
    [999_999_999n, text('9999999.99')],
  ),
  decimal64: decimal(
    4,
    18,
    64,
    [2n ** 53n + 1n, text('900719925474.0993')],
    [null, NULL],
    [-(10n ** 18n) + 1n, text('-99999999999999.9999')],
    [10_000n, text('1.0000')],
  ),
  decimal128: decimal(
    10,
    38,
    128,
    [NINES, text('9999999999999999999999999999.9999999999')],
    [-NINES, text('-9999999999999999999999999999.9999999999')],
    [1n, text('0.0000000001')],
    [null, NULL],
    [-(2n ** 53n), text('-900719.9254740992')],
    [2n ** 64n, text('1844674407.3709551616')],
  ),
  'decimal128 of fractions alone': decimal(
    38,
    38,
    128,
    [1n, text(`0.${'1'.padStart(38, '0')}`)],
    [-NINES, text(`-0.${'9'.repeat(38)}`)],
    [null, NULL],
    [0n, text(`0.${'0'.repeat(38)}`)],
  ),
  'decimal128 without decimals': decimal(0, 38, 128, [NINES, text('9'.repeat(38))], [null, NULL], [-7n, text('-7')]),
  'decimal128 of hundreds': decimal(
    -2,
    5,
    128,
    [123n, text('12300')],
    [-1n, text('-100')],
    [null, NULL],
    [0n, text('0')],
  ),
  decimal256: decimal(
    20,
    76,
    256,
    [10n ** 76n - 1n, text(`${'9'.repeat(56)}.${'9'.repeat(20)}`)],
    [-(10n ** 76n) + 1n, text(`-${'9'.repeat(56)}.${'9'.repeat(20)}`)],
    [null, NULL],
    [-1n, text('-0.00000000000000000001')],
  ),
};
