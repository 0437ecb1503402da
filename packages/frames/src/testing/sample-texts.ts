import { EXTENSION_METADATA_KEY, UUID_EXTENSION } from '@svc/arrow';
import {
  Binary,
  BinaryView,
  type DataType,
  DateDay,
  Dictionary,
  FixedSizeBinary,
  Float64,
  Int16,
  Int32,
  Int64,
  Int8,
  LargeBinary,
  LargeUtf8,
  Null,
  TimestampMicrosecond,
  Uint16,
  Utf8,
  Utf8View,
} from 'apache-arrow';
import {
  type BuildColumn,
  type Bytes,
  bytes,
  dictionaryOf,
  fixedBytes,
  largeBytes,
  longs,
  nulls,
  numbers,
  views,
} from './column-builders.ts';
import { bare, both, NULL, type SampleCell, sampleColumn, type SampleColumn, text } from './sample-frame.ts';

const STRINGS: readonly (readonly [Bytes | null, SampleCell])[] = [
  ['a', text('a')],
  ['', both('""', '""')],
  [null, NULL],
  ['é€😀', text('é€😀')],
  ['a,b', both('"a,b"', '"a,b"')],
  ['say "x"', both(String.raw`"say \"x\""`, '"say ""x"""')],
  ['two\nlines', both(String.raw`"two\nlines"`, '"two\nlines"')],
  ['two\r\nlines and more', both(String.raw`"two\r\nlines and more"`, '"two\r\nlines and more"')],
  [
    '\\/\b\f\t\u0000\u001f\u007f',
    both('"' + String.raw`\\/\b\f\t\u0000\u001f` + '\u007f"', '\\/\b\f\t\u0000\u001f\u007f'),
  ],
  [' null ', text(' null ')],
  ['exactly 12 b', text('exactly 12 b')],
  ['longer than twelve bytes', text('longer than twelve bytes')],
  [[0x41, 0xff, 0xe2, 0x82, 0x42], text('A\ufffd\ufffdB')],
  [[0x2c, 0xc0], both('",\ufffd"', '",\ufffd"')],
];
const BYTES: readonly (readonly [Bytes | null, SampleCell])[] = [
  [[0, 255, 128], text('AP+A')],
  [[], both('""', '""')],
  [null, NULL],
  [[251], text('+w==')],
  [[251, 255], text('+/8=')],
  ['longer than twelve bytes', text('bG9uZ2VyIHRoYW4gdHdlbHZlIGJ5dGVz')],
];
const WORDS: readonly (readonly [string | null, SampleCell])[] = [
  ['x', text('x')],
  ['y,z', both('"y,z"', '"y,z"')],
  [null, NULL],
  ['', both('""', '""')],
  ['longer than twelve bytes', text('longer than twelve bytes')],
];

const string = (type: DataType, build: BuildColumn<Bytes>) => sampleColumn('STRING', type, build, STRINGS);
const binary = (type: DataType, build: BuildColumn<Bytes>) => sampleColumn('BINARY', type, build, BYTES);
const symbol = (values: DataType, indices: Int8 | Uint16 | Int32 | Int64, build: BuildColumn<Bytes>) =>
  sampleColumn('SYMBOL', new Dictionary(values, indices as Int32), dictionaryOf(build), WORDS);
const uuid = (start: number) => Array.from({ length: 16 }, (_, i) => (start + 0x11 * i) & 255);

/** The field metadata of a UUID column. */
export const UUID_METADATA = { [EXTENSION_METADATA_KEY]: UUID_EXTENSION, 'ARROW:extension:metadata': '' };

/** UUIDs and their texts. */
export const UUIDS: readonly (readonly [Bytes | null, SampleCell])[] = [
  [uuid(0), text('00112233-4455-6677-8899-aabbccddeeff')],
  [null, NULL],
  [Array<number>(16).fill(255), text('ffffffff-ffff-ffff-ffff-ffffffffffff')],
];

/** Texts, bytes and dictionaries. */
export const TEXT_COLUMNS: Readonly<Record<string, SampleColumn>> = {
  utf8: string(new Utf8(), bytes),
  'large utf8': string(new LargeUtf8(), largeBytes),
  'utf8 view': string(new Utf8View(), views),
  null: sampleColumn('STRING', new Null(), nulls, [[null, NULL]]),
  binary: binary(new Binary(), bytes),
  'large binary': binary(new LargeBinary(), largeBytes),
  'binary view': binary(new BinaryView(), views),
  'fixed-size binary': sampleColumn('BINARY', new FixedSizeBinary(3), fixedBytes, [
    [[1, 2, 3], text('AQID')],
    [null, NULL],
    [[255, 255, 255], text('////')],
  ]),
  uuid: sampleColumn('UUID', new FixedSizeBinary(16), fixedBytes, UUIDS, { metadata: UUID_METADATA }),
  'dictionary of utf8': symbol(new Utf8(), new Int32(), bytes),
  'dictionary of large utf8 by int8': symbol(new LargeUtf8(), new Int8(), largeBytes),
  'dictionary of utf8 view by uint16': symbol(new Utf8View(), new Uint16(), views),
  'dictionary of utf8 by int64': symbol(new Utf8(), new Int64(), bytes),
  'dictionary of int64': sampleColumn('LONG', new Dictionary(new Int64(), new Int8()), dictionaryOf(longs), [
    [2n ** 63n - 1n, bare('9223372036854775807')],
    [null, NULL],
    [-1n, bare('-1')],
  ]),
  'dictionary of float64': sampleColumn('DOUBLE', new Dictionary(new Float64(), new Int16()), dictionaryOf(numbers), [
    [0.1, bare('0.1')],
    [Number.NaN, both('null', 'NaN')],
    [null, NULL],
  ]),
  'dictionary of date32': sampleColumn('DATE', new Dictionary(new DateDay(), new Int8()), dictionaryOf(numbers), [
    [19724, both('"2024-01-02T00:00:00.000Z"', '2024-01-02')],
    [null, NULL],
  ]),
  'dictionary of timestamps': sampleColumn(
    'TIMESTAMP',
    new Dictionary(new TimestampMicrosecond(), new Int32()),
    dictionaryOf(longs),
    [
      [1704164645678901n, text('2024-01-02T03:04:05.678901Z')],
      [null, NULL],
      [0n, text('1970-01-01T00:00:00.000000Z')],
    ],
  ),
  'dictionary of binary': sampleColumn('BINARY', new Dictionary(new Binary(), new Int32()), dictionaryOf(bytes), [
    ['ab', text('YWI=')],
    [null, NULL],
    ['', both('""', '""')],
  ]),
  'dictionary of uuid': sampleColumn(
    'UUID',
    new Dictionary(new FixedSizeBinary(16), new Int8()),
    dictionaryOf(fixedBytes),
    UUIDS,
    { metadata: UUID_METADATA },
  ),
};
