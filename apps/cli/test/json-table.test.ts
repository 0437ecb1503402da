import { describe, expect, test } from 'vitest';
import { readJsonTable, type TablePart } from '../src/output/print-result.ts';

async function read(chunks: readonly (string | Uint8Array)[]): Promise<{ members: object; rows: unknown[] }> {
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) yield Buffer.from(chunk);
  }
  const parts: TablePart[] = [];
  for await (const part of readJsonTable(bytes())) parts.push(part);
  return {
    members: Object.assign({}, ...parts.map((part) => (part.kind === 'end' ? part.members : {}))),
    rows: parts.flatMap((part) => (part.kind === 'rows' ? part.rows : [])),
  };
}

const TABLE =
  '{"query":"handle:é","columns":[{"name":"a,]","type":"LONG"},{"name":"b","type":"STRING"}], "dataset" : [ [9007199254740993, "x\\"]\\\\" ],' +
  '[null,""],[-0.0 ,[1,{"k":"]"}]],[1.0E300,true]],"count":4,"timings":{"open":1}}';
const READ = {
  members: {
    query: 'handle:é',
    columns: [
      { name: 'a,]', type: 'LONG' },
      { name: 'b', type: 'STRING' },
    ],
    count: 4,
    timings: { open: 1 },
  },
  rows: [
    ['9007199254740993', 'x"]\\'],
    [null, ''],
    ['-0.0', '[1,{"k":"]"}]'],
    ['1.0E300', 'true'],
  ],
};

/** The columns of a table with one column. */
const A = '"columns":[{"name":"a","type":"LONG"}]';

describe('readJsonTable', () => {
  test('keeps every digit, distinguishes null from text, and keeps nested values', async () => {
    expect(await read([TABLE])).toEqual(READ);
  });

  test('reads the same at any split of the bytes', async () => {
    const bytes = Buffer.from(TABLE);
    for (let at = 0; at <= bytes.length; at += 1) {
      expect(await read([bytes.subarray(0, at), bytes.subarray(at)]), `split at ${at}`).toEqual(READ);
    }
    expect(await read(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(READ);
  });

  test('detects every truncation, even with a clean close', async () => {
    const bytes = Buffer.from(TABLE);
    for (let at = 0; at < bytes.length; at += 1) {
      await expect(read([bytes.subarray(0, at)]), `cut at ${at}`).rejects.toMatchObject({ exitCode: 3 });
    }
  });

  test('refuses an endless value instead of filling the memory', { tags: ['slow'] }, async () => {
    const endless = Array.from({ length: 33 }, () => Buffer.alloc(4 * 1024 * 1024, 'x'));
    await expect(read(['{"dataset":[["', ...endless])).rejects.toMatchObject({
      exitCode: 3,
      message: 'The response contains a row longer than 128 MiB.',
    });
  });

  test.each([
    ['{}', {}, []],
    [' { "ddl" : "OK" } \n', { ddl: 'OK' }, []],
    ['{"columns":[],"dataset":[],"count":0}', { columns: [], count: 0 }, []],
    ['{"columns":[],"dataset":[[],[]],"count":2}', { columns: [], count: 2 }, [[], []]],
  ])('%s is read', async (text, members, rows) => {
    expect(await read([text])).toEqual({ members, rows });
  });

  test.each([
    ['<html>', 'expected "{", found "<"'],
    ['[1]', 'expected "{", found "["'],
    ['{"a":1}x', 'there is text after the end'],
    ['{"a" 1}', 'expected ":", found "1"'],
    ['{a:1}', 'expected a key, found'],
    ['{"a":tru}', '"tru" is not JSON'],
    ['{"a":1,}', 'expected a value, found "}"'],
    ['{"dataset":{}}', 'expected "[", found "{"'],
    ['{"dataset":[1]}', 'expected "[", found "1"'],
    ['{"dataset":[[1]]}', 'its rows come before its columns'],
    [`{${A},"dataset":[[01x]]}`, '"01x" is not JSON'],
    [`{${A},"dataset":[[1,]]}`, 'a row has a comma without a value'],
    [`{${A},"dataset":[["a""b"]]}`, 'is not JSON'],
    [`{${A},"dataset":[[{"a":}]]}`, 'is not JSON'],
    [`{${A},"dataset":[[1,2]]}`, 'a row has 2 values for 1 column'],
  ])('%s is refused', async (text, message) => {
    await expect(read([text])).rejects.toMatchObject({
      exitCode: 3,
      message: expect.stringContaining(`Cannot read the response: `),
    });
    await expect(read([text])).rejects.toThrow(message);
  });
});
