// The real binary against the real server.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROWS, serveTests } from './served.ts';

const { svc } = serveTests();

test('rows go out in every format, and back in', async () => {
  await svc(['put', 'rows', '-', '--fmt', 'ndjson'], '{"id":9007199254740993,"s":"a,b"}\n{"id":2,"s":null}\n');
  expect((await svc(['get', 'rows', '--csv'])).stdout).toBe('id,s\r\n9007199254740993,"a,b"\r\n2,\r\n');
  expect((await svc(['get', 'rows', '--csv', '--limit', '2,', '--cols', 'id'])).stdout).toBe('id\r\n2\r\n');
  const ndjson = '{"id":9007199254740993,"s":"a,b"}\n{"id":2,"s":null}\n';
  expect((await svc(['get', 'rows', '--ndjson'])).stdout).toBe(ndjson);
  const folder = await mkdtemp(join(tmpdir(), 'svc-rows-'));
  try {
    for (const name of ['rows.arrows', 'rows.jsonl']) {
      const file = join(folder, name);
      expect(await svc(['get', 'rows', '-o', file])).toEqual({ code: 0, stdout: '', stderr: '' });
      expect(await svc(['put', name, file])).toMatchObject({ code: 0 });
      expect((await svc(['get', name, '--ndjson'])).stdout).toBe(ndjson);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('formats for programs have all rows, a table the first 1000', async () => {
  await svc(['put', 'many', '-', '--fmt', 'json'], JSON.stringify(Array.from({ length: 1500 }, (_, id) => ({ id }))));
  expect((await svc(['get', 'many'])).stdout).toMatch(/\n 999\n1000 of 1500 rows \(--all prints all\)\n$/);
  expect((await svc(['get', 'many', '--csv'])).stdout.split('\r\n')).toHaveLength(1502);
  expect(JSON.parse((await svc(['get', 'many', '--json'])).stdout)).toMatchObject({ count: 1500 });
});

test('a frame that expires is replaced, unless it must be new', async () => {
  await svc(['put', 'again', '-', '--fmt', 'json'], ROWS);
  expect((await svc(['put', 'again', '-', '--fmt', 'json', '--ttl', '3600'], '[{"id":1}]')).stdout).toContain(
    'again: 1 row, ',
  );
  expect((await svc(['list', 'again'])).stdout).not.toContain('never');
  expect(await svc(['put', 'again', '-', '--fmt', 'json', '--if-new'], ROWS)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^error: .*"again".*\nhint: Choose another handle, or leave out --if-new/),
  });
});

test('a handle in other letter case is refused with the hint of the server, with and without --if-new', async () => {
  await svc(['put', 'c4', '-', '--fmt', 'json'], ROWS);
  for (const more of [[], ['--if-new']]) {
    expect(await svc(['put', 'C4', '-', '--fmt', 'json', ...more], ROWS)).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'error: The frame "c4" exists, and differs from "C4" only in letter case.\n' +
        'hint: Use the handle "c4", or a different one.\n',
    });
  }
});

describe('the server refuses, and svc ends with 1', () => {
  test.each([
    [['get', 'nosuch'], 'error: There is no frame "nosuch".\nhint: svc list prints all handles.\n'],
    [['drop', 'nosuch'], 'error: There is no frame "nosuch".\nhint: svc list prints all handles.\n'],
    [['get', 'x', '--limit', '1.5'], '--limit "1.5"'],
    [['get', 'x', '--limit', '-1'], '--limit "-1"'],
    [['put', 'a b', '-', '--fmt', 'json'], '"a b" is not a valid handle.'],
    [['put', 'x', '-', '--fmt', 'json'], 'error: '],
  ])('svc %j', async (argv, message) => {
    const { code, stdout, stderr } = await svc(argv, '{"not":"rows"}');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(message);
  });
});

test('SQL that is too long for the database is refused with a sentence', async () => {
  expect(await svc(['query', '-'], `select '${'x'.repeat(1_000_000)}'`)).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(
      /^error: The encoded request has (?:more than )?\d+ bytes; .*\nhint: Shorten the SQL.*\n$/,
    ),
  });
});
