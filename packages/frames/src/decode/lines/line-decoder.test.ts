import {
  Bool,
  type DataType,
  DateDay,
  Dictionary,
  Field,
  Float32,
  Float64,
  Int16,
  Int32,
  Int64,
  LargeUtf8,
  Schema,
  Timestamp,
  TimeUnit,
  Utf8,
} from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { cellsOf, decodeLines, NOW } from '../../../test/line-cells.ts';
import { fitLines } from './fit-lines.ts';
import type { LineError } from './line-tokens.ts';

const errorOf = (work: () => unknown): Partial<LineError> => {
  try {
    work();
  } catch (error) {
    return error as LineError;
  }
  throw new Error('It did not fail.');
};

describe('a value has the type that its form tells:', () => {
  test.each<[string, string, unknown]>([
    ['1', 'DOUBLE', 1],
    ['-0.5', 'DOUBLE', -0.5],
    ['+2.', 'DOUBLE', 2],
    ['.5', 'DOUBLE', 0.5],
    ['1e-3', 'DOUBLE', 0.001],
    ['1.7976931348623157E308', 'DOUBLE', Number.MAX_VALUE],
    ['0.1234567890123456789', 'DOUBLE', 0.123_456_789_012_345_68],
    ['123456789012345678', 'DOUBLE', '123456789012345680'],
    ['NaN', 'DOUBLE', null],
    ['-Infinity', 'DOUBLE', null],
    ['0i', 'LONG', 0],
    ['-42i', 'LONG', -42],
    ['9223372036854775807i', 'LONG', '9223372036854775807'],
    ['-9223372036854775808i', 'LONG', '-9223372036854775808'],
    ['-4294967296i', 'LONG', -4_294_967_296],
    ['0000000000000000000001i', 'LONG', 1],
    ['-0000000000000000000001i', 'LONG', -1],
    ['18446744073709551615u', 'ULONG', '18446744073709551615'],
    ['t', 'BOOLEAN', true],
    ['TRUE', 'BOOLEAN', true],
    ['False', 'BOOLEAN', false],
    ['f', 'BOOLEAN', false],
    ['"a b"', 'STRING', 'a b'],
    ['""', 'STRING', ''],
    ['"say \\"hi\\", C:\\new \\\\"', 'STRING', 'say "hi", C:\\new \\'],
    ['"two\nlines"', 'STRING', 'two\nlines'],
    ['"ü, = 日本"', 'STRING', 'ü, = 日本'],
    ['1700000000000001t', 'TIMESTAMP', '2023-11-14T22:13:20.000001Z'],
    ['-1t', 'TIMESTAMP', '1969-12-31T23:59:59.999999Z'],
    ['1700000000000000001n', 'TIMESTAMP_NS', '2023-11-14T22:13:20.000000001Z'],
    ['9223372036854775808i', 'refused', 'out of range for a LONG'],
    ['-1u', 'refused', 'out of range for a ULONG'],
    ['-9223372036854775809i', 'refused', 'out of range for a LONG'],
    ['99999999999999999999999i', 'refused', 'out of range for a LONG'],
    ['18446744073709551616u', 'refused', 'out of range for a ULONG'],
    ['9223372036854775808t', 'refused', 'out of range for a TIMESTAMP.'],
    ['9223372036854775808n', 'refused', 'out of range for a TIMESTAMP_NS.'],
    ['1.5i', 'refused', 'has no type'],
    ['1e999', 'refused', 'out of range for a DOUBLE'],
    ['1e-999', 'refused', 'out of range for a DOUBLE'],
    ['tru', 'refused', 'has no type'],
    ['0xffi', 'refused', 'has no type'],
    ['abc', 'refused', 'has no type'],
    ['', 'refused', 'has no value'],
    ['=\u0010', 'refused', 'protocol version 2'],
  ])('%s is %s %s', async (value, type, expected) => {
    if (type === 'refused') {
      expect(errorOf(() => decodeLines(`t v=${value} 1\n`)).message).toContain(expected);
      return;
    }
    const [table] = decodeLines(`t v=${value} 1\n`);
    const { columns, rows } = await cellsOf(table);
    expect([columns['v'], rows[0]?.[0]]).toEqual([type, expected]);
  });
});

test('a line has tags, fields and a time, in columns of their own', async () => {
  const [table] = decodeLines(
    'trades,symbol=BTC,side=buy price=1.5,size=3i 1700000000000000000\n' +
      'trades,side=sell,symbol=ETH size=4i,note="x" 1700000000000000001\n',
  );
  expect(await cellsOf(table)).toEqual({
    columns: {
      symbol: 'SYMBOL',
      side: 'SYMBOL',
      price: 'DOUBLE',
      size: 'LONG',
      note: 'STRING',
      timestamp: 'TIMESTAMP_NS',
    },
    rows: [
      ['BTC', 'buy', 1.5, 3, null, '2023-11-14T22:13:20.000000000Z'],
      ['ETH', 'sell', null, 4, 'x', '2023-11-14T22:13:20.000000001Z'],
    ],
  });
});

test('a line may have the columns of the lines before in any order', async () => {
  const [table] = decodeLines('t a=1,b=2,c=3 1\nt c=6,b=5,a=4 1\nt b=8,a=7 1\nt d=0,c=9,a=7 1\n');
  const { columns, rows } = await cellsOf(table);
  expect(Object.keys(columns)).toEqual(['a', 'b', 'c', 'd', 'timestamp']);
  expect(rows.map((row) => row.slice(0, 4))).toEqual([
    [1, 2, 3, null],
    [4, 5, 6, null],
    [7, 8, null, null],
    [7, null, 9, 0],
  ]);
});

test('each measurement is a table, in the order of the first lines', () => {
  const tables = decodeLines('b x=1\na x=1\n\n# b x=1\n   \nb x=2\r\nc,y=z\n');
  expect(tables.map(({ handle, rows, lines }) => [handle, [...lines.subarray(0, rows)]])).toEqual([
    ['b', [1, 6]],
    ['a', [2]],
    ['c', [7]],
  ]);
});

describe('the time of a line:', () => {
  test.each([
    ['ns', '1700000000123456789', '2023-11-14T22:13:20.123456789Z'],
    ['n', '0', '1970-01-01T00:00:00.000000000Z'],
    ['us', '1700000000123456', '2023-11-14T22:13:20.123456000Z'],
    ['u', '-1', '1969-12-31T23:59:59.999999000Z'],
    ['ms', '1700000000123', '2023-11-14T22:13:20.123000000Z'],
    ['s', '1700000000', '2023-11-14T22:13:20.000000000Z'],
    ['m', '28333333', '2023-11-14T22:13:00.000000000Z'],
    ['h', '-1', '1969-12-31T23:00:00.000000000Z'],
    ['ms', '1700000000123456t', '2023-11-14T22:13:20.123456000Z'],
    ['s', '5n', '1970-01-01T00:00:00.000000005Z'],
    ['ns', '9223372036854775806', '2262-04-11T23:47:16.854775806Z'],
    ['s', '', NOW],
  ] as const)('in %s, %s is %s', async (precision, time, expected) => {
    const [table] = decodeLines(`t x=1 ${time}`, { precision });
    expect((await cellsOf(table)).rows[0]?.[1]).toBe(expected);
  });

  test.each([
    ['ns', '9223372036854775807', 'the time "9223372036854775807" is out of range.'],
    ['ns', '-9223372036854775808', 'the time "-9223372036854775808" is out of range.'],
    ['s', '9223372037', 'the time "9223372037" is out of range.'],
    ['h', '99999999999999999999', 'the time "99999999999999999999" is out of range.'],
    ['ns', '1.5', '"1.5" is not a valid time.'],
    ['ns', '1e9', '"1e9" is not a valid time.'],
    ['ns', 'now', '"now" is not a valid time.'],
    ['ns', '-', '"-" is not a valid time.'],
  ] as const)('in %s, %s is refused', (precision, time, message) => {
    expect(errorOf(() => decodeLines(`t x=1 ${time}`, { precision })).message).toBe(`Line 1: ${message}`);
  });
});

test('names and tags take escapes, and any other backslash as it is', async () => {
  const [table] = decodeLines('a.b-c_d,k\\,1=v\\ 1\\,\\=\\\\,path=C:\\dir,nl=a\\\nb f\\ 1="x",e="" 1\n');
  expect(await cellsOf(table)).toMatchObject({
    columns: { 'k,1': 'SYMBOL', path: 'SYMBOL', nl: 'SYMBOL', 'f 1': 'STRING' },
    rows: [['v 1,=\\', 'C:\\dir', 'a\nb', 'x', '', expect.anything()]],
  });
});

test('a row may have tags alone, also with a time, and spaces around', async () => {
  const [table] = decodeLines('  t,a=x\nt,a= 5\nt,a=y   6  \n');
  expect((await cellsOf(table)).rows).toEqual([
    ['x', NOW],
    ['', '1970-01-01T00:00:00.000000005Z'],
    ['y', '1970-01-01T00:00:00.000000006Z'],
  ]);
});

describe('an error names its line and what is wrong:', () => {
  test.each<[string, number, RegExp]>([
    ['t x=1\nt', 2, /neither tags nor fields/],
    ['t 5', 1, /the field "5" has no value/],
    ['t x', 1, /the field "x" has no value/],
    ['\n\n,a=b x=1', 3, /the name of the table is missing/],
    ['é x=1', 1, /"é" is not a valid name of a table/],
    ['../x x=1', 1, /"\.\.\/x" is not a valid name/],
    ['t,a x=1', 1, /the tag "a" has no value/],
    ['t,=a x=1', 1, /a column has no name/],
    ['t,a=1, x=1', 1, /there is no tag after a comma/],
    ['t,a=b=c x=1', 1, /has "=" in its value/],
    ['t x=1,', 1, /there is no field after a comma/],
    ['t x=1, y=2', 1, /there is no field after a comma/],
    ['t x="a"b', 1, /text after its last quote/],
    ['t y=1\nt x="a\n\n', 2, /a text in quotes has no end/],
    ['t x="a\nb"\nt y', 3, /the field "y" has no value/],
    ['t x=1\nt y=2,z=1e400', 2, /^Line 2: the field "z" has the value "1e400", which is out of range for a DOUBLE\.$/],
    ['t x=1 5 6', 1, /text after the time/],
    ['t x=1,x=2', 1, /column "x" occurs twice/],
    ['t,x=1 x=2', 1, /column "x" occurs twice/],
    ['t timestamp=1', 1, /"timestamp" is the time of the line/],
    ['t x=1\nt x="a"', 2, /column "x" is STRING here, but DOUBLE in line 1/],
    ['t x=t\nt x=1i', 2, /column "x" is LONG here, but BOOLEAN in line 1/],
    ['t,x=a y=1\nt x="a"', 2, /column "x" is STRING here, but SYMBOL in line 1/],
    ['t x=1i\nt x=2u', 2, /column "x" is ULONG here, but LONG in line 1/],
    ['t x=9007199254740993i\nt x=1', 2, /column "x" is DOUBLE here, but LONG in line 1/],
    ['t x=1\nt x=9007199254740993i', 2, /column "x" is LONG here, but DOUBLE in line 1/],
  ])('%j: line %i', (text, line, message) => {
    const error = errorOf(() => decodeLines(text));
    expect(error).toMatchObject({ code: 'invalid_data', line });
    expect(error.message).toMatch(message);
    expect(error.hint).not.toBe('');
  });

  test('text that is not UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from('t x="ü"\nt x="'), Buffer.from([0xff]), Buffer.from('"\n')]);
    expect(errorOf(() => decodeLines(bytes))).toMatchObject({ line: 2, message: 'Line 2: it is not UTF-8.' });
  });

  test.each(['t x="', 't,a=', '#'])('a line that is too long: %s', (start) => {
    const error = errorOf(() => decodeLines(`t x=1\n${start}${'a'.repeat(1024 ** 2)}`));
    expect(error.message).toMatch(/^Line 2: it is longer than 1048576 bytes/);
  });

  test('too many columns', () => {
    const fields = Array.from({ length: 10_000 }, (_, i) => `c${i}=1`).join(',');
    expect(errorOf(() => decodeLines(`t ${fields}`)).message).toMatch(/a table has at most 10000 columns/);
  });

  test('too many tables', () => {
    const lines = Array.from({ length: 1001 }, (_, i) => `t${i} x=1\n`).join('');
    expect(errorOf(() => decodeLines(lines))).toMatchObject({ line: 1001 });
  });
});

test('columns that few lines have count in full against the memory', () => {
  const lines = Array.from({ length: 2000 }, (_, i) => `t c${i}=1\n`).join('');
  expect(errorOf(() => decodeLines(lines, { maxBytes: 10 * 1024 ** 2 }))).toMatchObject({ code: 'out_of_memory' });
});

describe('rows for a frame', () => {
  const fit = (text: string, fields: Record<string, DataType>, nullable = true) => {
    const schema = new Schema(Object.entries(fields).map(([name, type]) => new Field(name, type, nullable)));
    const [table] = decodeLines(text);
    return cellsOf(table, schema);
  };
  const time = { timestamp: new Timestamp(TimeUnit.NANOSECOND) };

  test.each<[string, unknown, DataType]>([
    ['x=1i', 1, new Int16()],
    ['x=1i', 1, new Float64()],
    ['x=2', 2, new Int32()],
    ['x=0.5', 0.5, new Float32()],
    ['x="a"', 'a', new Dictionary(new Utf8(), new Int32())],
    ['x="a"', 'a', new LargeUtf8()],
    ['x=1700000000000000t', '2023-11-14T22:13:20.000000Z', new Timestamp(TimeUnit.SECOND, 'UTC')],
    ['x=t', true, new Bool()],
  ])('%s is %s in the frame', async (field, expected, type) => {
    expect((await fit(`t ${field} 1\nt,y=a x=${field.slice(2)} 1`, { x: type, y: new Utf8(), ...time })).rows).toEqual([
      [expected, null, expect.anything()],
      [expected, 'a', expect.anything()],
    ]);
  });

  test.each<[string, number, RegExp, Record<string, DataType>]>([
    ['t x=1\nt y=1', 2, /frame "t" has no column "y"/, { x: new Float64(), ...time }],
    ['t x=1\nt x=1.5', 2, /the value 1.5 of column "x".* does not fit: .* is LONG/, { x: new Int64(), ...time }],
    ['t x=1\nt x=70000', 2, /the value 70000 .* is SHORT/, { x: new Int16(), ...time }],
    ['t x=1i\nt x="a"', 2, /is STRING here, but LONG in line 1/, { x: new Int64(), ...time }],
    ['t y=1\nt x="a"', 2, /is STRING here, but DATE in the frame "t"/, { y: new Float64(), x: new DateDay(), ...time }],
    ['t x=t', 1, /is BOOLEAN here, but LONG in the frame/, { x: new Int64(), ...time }],
    ['t x=1 1000\nt x=1 1001\n', 2, /1001 ns/, { x: new Float64(), timestamp: new Timestamp(TimeUnit.MICROSECOND) }],
    ['t x=1', 1, /has no column "timestamp"/, { x: new Float64() }],
  ])('%j: line %i %s', async (text, line, message, fields) => {
    await expect((async () => fit(text, fields))()).rejects.toMatchObject({
      code: 'invalid_data',
      line,
      message: expect.stringMatching(message),
    });
  });

  const many = (last: string): string => `${'t x=1,y=t,z="a",n=5 1\n'.repeat(70_000)}${last}`;

  test('long requests are whole, and wait after each part of a column', async () => {
    const types = { x: new Int16(), y: new Bool(), z: new Dictionary(new Utf8(), new Int32()), ...time };
    const schema = new Schema(
      Object.entries({ ...types, n: new Float64() }).map(([k, type]) => new Field(k, type, true)),
    );
    const [table] = decodeLines(many('t,k=b x=7,y=f,z="b" 2'));
    if (table === undefined) throw new Error('There is no table.');
    const target = new Schema([...schema.fields, new Field('k', new LargeUtf8(), true)]);
    let pauses = 0;
    const pause = () => void pauses++;
    const { batches } = await fitLines(table, target, pause);
    const last: unknown[] = [];
    const rows: number[] = [];
    for await (const batch of batches) {
      rows.push(batch.numRows);
      last.splice(0, Infinity, batch.get(batch.numRows - 2)?.toJSON(), batch.get(batch.numRows - 1)?.toJSON());
    }
    expect(rows).toEqual([65_536, 4465]);
    expect(pauses).toBe(2 * target.fields.length);
    expect(last).toMatchObject([
      { x: 1, y: true, z: 'a', n: 5, k: null },
      { x: 7, y: false, z: 'b', n: null, k: 'b' },
    ]);
  });

  test('the line of a value that does not fit is found beyond the first part', async () => {
    const types = { x: new Int16(), y: new Bool(), z: new Utf8(), n: new Float64(), ...time };
    await expect((async () => fit(many('t x=0.5'), types))()).rejects.toMatchObject({ line: 70_001 });
  });

  test('whole numbers and doubles mix in a column of the frame, not in a new one', async () => {
    expect((await fit('t x=1i 1\nt x=1.5 1', { x: new Float64(), ...time })).rows.map(([x]) => x)).toEqual([1, 1.5]);
    const [table] = decodeLines('t x=1i\nt x=1.5');
    await expect(cellsOf(table)).rejects.toThrow('Line 2: column "x" is DOUBLE here, but LONG in line 1.');
  });
});
