import { describe, expect, test } from 'vitest';
import { createJsonTableReader } from './json-table.ts';

const TABLE =
  ' {"query":"handle:é","columns":[{"name":"a,]","type":"LONG"},{"name":"b","type":"STRING"}], "dataset" : ' +
  '[ [9007199254740993, "x\\"]\\\\" ],[null,""],[-0.0 ,[1,{"k":"]"}]],[1.0E300,true]],"count":4,"timings":{"open":1}} \n';
const ROWS = [
  ['9007199254740993', '"x\\"]\\\\"'],
  ['null', '""'],
  ['-0.0', '[1,{"k":"]"}]'],
  ['1.0E300', 'true'],
];
const COLUMNS = [
  { name: 'a,]', type: 'LONG' },
  { name: 'b', type: 'STRING' },
];

function read(chunks: readonly (string | Uint8Array)[]): unknown {
  const reader = createJsonTableReader();
  const rows = chunks.flatMap((chunk) => reader.push(Buffer.from(chunk)));
  return { rows, columns: reader.columns, members: Object.fromEntries(reader.members), isComplete: reader.isComplete };
}

const READ = {
  rows: ROWS,
  columns: COLUMNS,
  members: { query: 'handle:é', columns: COLUMNS, count: 4, timings: { open: 1 } },
  isComplete: true,
};

describe('a JSON table', () => {
  test('is the same wherever its bytes are cut, and byte by byte', () => {
    const bytes = Buffer.from(TABLE);
    for (let at = 0; at <= bytes.length; at += 1) {
      expect(read([bytes.subarray(0, at), bytes.subarray(at)]), `cut at ${at}`).toEqual(READ);
    }
    expect(read(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(READ);
  });

  test('is complete only with its last bracket', () => {
    const bytes = Buffer.from(TABLE.trimEnd());
    for (let at = 0; at < bytes.length; at += 1) {
      expect(read([bytes.subarray(0, at)]), `cut at ${at}`).toMatchObject({ isComplete: false });
    }
  });

  test.each([
    ['{}', undefined, []],
    [' { "ddl" : "OK" } \n', undefined, []],
    ['{"columns":[],"dataset":[ ],"count":0}', [], []],
    ['{"columns":[],"dataset":[[],[ ]],"count":2}', [], [[], []]],
  ])('may be %s', (text, columns, rows) => {
    expect(read([text])).toMatchObject({ columns, rows, isComplete: true });
  });

  test('of one long value is read in time that grows with its length', () => {
    const chunk = 'x'.repeat(1024);
    const reader = createJsonTableReader();
    reader.push(Buffer.from('{"columns":[{"name":"a","type":"STRING"}],"dataset":[["'));
    for (let i = 0; i < 8 * 1024; i += 1) reader.push(Buffer.from(chunk));
    expect(reader.push(Buffer.from('"]'))[0]?.[0]?.length).toBe(8 * 1024 * 1024 + 2);
  });

  const A = '"columns":[{"name":"a","type":"LONG"}]';
  test.each([
    ['<html>', 'expected "{", found "<"'],
    ['[1]', 'expected "{", found "["'],
    ['{"a":1}x', 'there is text after the end'],
    ['{"a" 1}', 'expected ":", found "1"'],
    ['{a:1}', 'expected a key, found'],
    ['{"a":tru}', '"tru" is not JSON'],
    ['{"a":1,}', 'expected a value, found "}"'],
    ['{"columns":3}', 'its columns are not a list'],
    ['{"columns":[3]}', 'a column has no name or no type'],
    ['{"dataset":{}}', 'expected "[", found "{"'],
    ['{"dataset":[1]}', 'expected "[", found "1"'],
    ['{"dataset":[[1]]}', 'its rows come before its columns'],
    [`{${A},"dataset":[[1,]]}`, 'a row has a comma without a value'],
    [`{${A},"dataset":[[1]`.concat(',]'), 'expected "[", found "]"'],
    [`{${A},"dataset":[[1,2]]}`, 'a row has 2 values for 1 column'],
    [`{${A},"dataset":[[]]}`, 'a row has 0 values for 1 column'],
    [`{${A},"dataset":[[1}]}`, 'a row is not an array'],
    [Uint8Array.of(0x7b, 0x22, 0xff), 'its text is not UTF-8'],
  ])('is refused if it is %s', (text, message) => {
    expect(() => read([text])).toThrow(`The answer is not a JSON table: ${message}`);
  });
});
