import { describe, expect, test } from 'vitest';
import { rowReader } from './json-table.ts';
import { parseExact, writeExact } from './exact-json.ts';

describe('JSON', () => {
  test.each([
    ['9007199254740993', 9007199254740993n],
    ['-9007199254740993', -9007199254740993n],
    ['9007199254740991', 9007199254740991],
    ['0.1234567890123456', 0.1234567890123456],
    ['1e300', 1e300],
    ['"9007199254740993"', '9007199254740993'],
    ['[1,[],{},9007199254740993]', [1, [], {}, 9007199254740993n]],
    ['{"a\\"]":{"b":[9007199254740993]},"c":null}', { 'a"]': { b: [9007199254740993n] }, c: null }],
    ['[ "x" , 12345678901234567890 ]', ['x', 12345678901234567890n]],
    ['{"__proto__":12345678901234567890}', Object.fromEntries([['__proto__', 12345678901234567890n]])],
  ])('%s is read exactly', (text, value) => {
    expect(parseExact(text, 'bigint')).toEqual(value);
  });

  test.each(['[1,]', '{"a":}', '9007199254740993x', '["9007199254740993""]'])('%s is refused', (text) => {
    expect(() => parseExact(text, 'bigint')).toThrow('is not JSON');
  });

  test.each([
    [{ a: 9007199254740993n, b: -0, c: undefined, d: null }, '{"a":9007199254740993,"b":-0,"d":null}'],
    [[undefined, 'x"', [1n], { e: {} }], '[null,"x\\"",[1],{"e":{}}]'],
    [{ at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    [{ at: new Date(NaN), list: [{ toJSON: () => undefined }] }, '{"at":null,"list":[null]}'],
    [{ toJSON: () => ({ id: 9007199254740993n, toJSON: 1 }) }, '{"id":9007199254740993,"toJSON":1}'],
    [1e21, '1e+21'],
  ])('%s is written exactly', (value, text) => {
    expect(writeExact(value)).toBe(text);
  });

  test('an object that converts itself to itself is converted once', () => {
    const self = { id: 1, toJSON: (): object => self };
    expect(() => writeExact(self)).toThrow('A function is not a value');
    const list = Object.defineProperty([1], 'toJSON', { value: () => list });
    expect(writeExact(list)).toBe('[1]');
  });

  test.each([
    [{ toJSON: () => () => 1 }, 'A function is not a value'],
    [[{ toJSON: () => ({ id: 1, run: () => 1 }) }], 'A function is not a value'],
    [{ a: { toJSON: () => [Symbol('x')] } }, 'A symbol is not a value'],
    [{ toJSON: () => ({ n: NaN }) }, 'JSON has no number for NaN'],
  ])('what toJSON returns is refused like any value: %#', (value, message) => {
    expect(() => writeExact(value)).toThrow(message);
  });
});

describe('a cell', () => {
  test.each([
    ['LONG', '-7', -7n],
    ['ULONG', '"18446744073709551615"', 18446744073709551615n],
    ['LONG128', '170141183460469231731687303715884105727', 170141183460469231731687303715884105727n],
    ['INT', '7', 7],
    ['FLOAT', '0.1', 0.1],
    ['DOUBLE', '-0', -0],
    ['BOOLEAN', 'false', false],
    ['DECIMAL(18,4)', '"1.1000"', '1.1000'],
    ['DECIMAL(18,4)', '1.1000', '1.1000'],
    ['STRING', '"a\\u0022"', 'a"'],
    ['TIMESTAMP_NS', '"2024-01-02T03:04:05.678901234Z"', '2024-01-02T03:04:05.678901234Z'],
    ['ARRAY', '[1,"a"]', [1, 'a']],
    ['a type of tomorrow', '{"a":1}', { a: 1 }],
    ['LONG', 'null', null],
    ['STRING', '"null"', 'null'],
  ])('of type %s with the text %s is exact', (type, text, value) => {
    expect(rowReader([{ name: 'x', type }], 'bigint')([text])).toEqual({ x: value });
  });

  test.each([
    ['LONG', '1.5'],
    ['LONG', '"x"'],
    ['INT', 'x'],
    ['BOOLEAN', 'tru'],
    ['STRING', '"a""b"'],
  ])('of type %s is refused if its text is %s', (type, text) => {
    expect(() => rowReader([{ name: 'x', type }], 'bigint')([text])).toThrow('is not');
  });
});
