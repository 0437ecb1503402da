import type { SqlValue } from '@svc/frames';
import { columnInfo } from '@svc/frames';
import { readRows } from '@svc/frames/testing';
import { describe, expect, test } from 'vitest';
import { paramRow } from './prepared-statement.ts';

describe('a parameter', () => {
  test.each<[SqlValue, string, unknown]>([
    [null, 'STRING', null],
    [true, 'BOOLEAN', true],
    ['é', 'STRING', 'é'],
    [1, 'INT', 1],
    [-(2 ** 31), 'INT', -(2 ** 31)],
    [2 ** 31, 'LONG', 2n ** 31n],
    [1.5, 'DOUBLE', 1.5],
    [-0, 'DOUBLE', -0],
    [Number.NaN, 'DOUBLE', Number.NaN],
    [Infinity, 'DOUBLE', Infinity],
    [2n ** 63n - 1n, 'LONG', 2n ** 63n - 1n],
    [Uint8Array.of(0, 255), 'BINARY', Uint8Array.of(0, 255)],
    [{ type: 'DOUBLE', text: '2' }, 'DOUBLE', 2],
    [{ type: 'double', text: '-inf' }, 'DOUBLE', -Infinity],
    [{ type: 'FLOAT', text: 'NaN' }, 'DOUBLE', Number.NaN],
    [{ type: 'BIGINT', text: '5' }, 'LONG', 5n],
    [{ type: 'BOOLEAN', text: 'true' }, 'BOOLEAN', true],
    [{ type: 'DATE', text: '2024-01-02' }, 'DATE', Date.UTC(2024, 0, 2)],
    [{ type: 'TIMESTAMP', text: '2024-01-02 03:04:05' }, 'TIMESTAMP', Date.UTC(2024, 0, 2, 3, 4, 5)],
    [{ type: 'TIMESTAMPTZ', text: '2024-01-02T03:04:05Z' }, 'TIMESTAMP', Date.UTC(2024, 0, 2, 3, 4, 5)],
    [{ type: 'INTERVAL', text: '1 day' }, 'STRING', '1 day'],
  ])('%o is %s %o', async (value, type, expected) => {
    const row = await paramRow([value]);
    expect(row.schema.fields.map((field) => columnInfo(field).type)).toEqual([type]);
    expect(await readRows(row)).toEqual([[expected]]);
  });

  test.each([
    [2n ** 64n, 'LONG128'],
    [{ type: 'DECIMAL(10,2)', text: '1.50' }, 'DECIMAL(10,2)'],
    [{ type: 'UUID', text: '00112233-4455-6677-8899-aabbccddeeff' }, 'UUID'],
    [{ type: 'TIME', text: '03:04:05' }, 'TIME'],
  ])('%o is %s', async (value, type) => {
    const { fields } = (await paramRow([value])).schema;
    expect(fields.map((field) => columnInfo(field).type)).toEqual([type]);
  });

  test.each([
    { type: 'DATE', text: 'soon' },
    { type: 'INTEGER', text: '3000000000' },
    { type: 'DOUBLE', text: 'x' },
    { type: 'DOUBLE', text: '' },
  ])('%o is invalid_argument', async (value) => {
    await expect(paramRow([value])).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  test('has its place', async () => {
    const { schema, batches } = await paramRow([1, 'a', null]);
    expect(schema.names).toEqual(['1', '2', '3']);
    expect(await readRows({ schema, batches })).toEqual([[1, 'a', null]]);
  });
});
