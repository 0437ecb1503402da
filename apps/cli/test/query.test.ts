import { describe, expect, test } from 'vitest';
import { run } from './run.ts';
import { bodyOf, sendJson, startStandIn } from './stand-in.ts';

function table(rows: unknown[][], more: object = {}): object {
  const columns = [
    { name: 'id', type: 'LONG' },
    { name: 's', type: 'STRING' },
  ];
  return { query: 'handle:t', columns, dataset: rows, count: rows.length, ...more };
}

describe('query', () => {
  const answers = (body: unknown, status = 200): ReturnType<typeof startStandIn> =>
    startStandIn((_, response) => sendJson(response, body, status));

  test('sends the SQL of the argument or of the standard input, and prints the table', async () => {
    const seen: unknown[] = [];
    const { url, requests } = await startStandIn(async (request, response) => {
      seen.push(request.headers['content-type'], await bodyOf(request));
      sendJson(response, table([['9007199254740993', 'a']], { timestamp: -1 }));
    });
    const { stdout } = await run(['query', 'select 1 + 1', '--url', url]);
    expect(stdout).toContain('\n9007199254740993  a\n1 row\n');
    await run(['query', '-', '--url', url], { stdin: 'select é' });
    expect(seen).toEqual(['application/sql', 'select 1 + 1', 'application/sql', 'select é']);
    expect(requests).toEqual(['POST /exec?fmt=json', 'POST /exec?fmt=json']);
  });

  test('a redirect is not followed, and named', async () => {
    const { url, requests } = await startStandIn((_, response) =>
      response.writeHead(307, { location: 'https://x.invalid/exec' }).end(),
    );
    expect(await run(['query', 'insert', '--url', url])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('The server answered 307 and points to "https://x.invalid/exec".'),
    });
    expect(requests).toHaveLength(1);
  });

  test.each([
    [{ ddl: 'OK' }, 'OK\n'],
    [{ dml: 'OK' }, 'OK\n'],
    [{ dml: 'OK', updated: 2 }, 'OK, 2 rows updated\n'],
    [{ ddl: 'OK', updated: 1 }, 'OK, 1 row updated\n'],
  ])('%j is printed as %s', async (body, stdout) => {
    const { url } = await answers(body);
    expect(await run(['query', 'x', '--url', url])).toEqual({ code: 0, stdout, stderr: '' });
  });

  test('an error shows its place in the SQL', async () => {
    const sql = 'select a,\n  nosuch\nfrom t';
    const { url } = await answers({ query: sql, error: 'Invalid column: nosuch', position: 12 }, 400);
    expect(await run(['query', sql, '--url', url])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'error: Invalid column: nosuch\n    nosuch\n    ^\n',
    });
  });

  test.each([
    ['instead of an answer', { error: 'empty query', query: '--', position: '0' }],
    ['behind rows', table([['1', 'a']], { error: 'empty query', errorPos: 0 })],
  ])('an error with status 200 %s is one all the same', async (_name, body) => {
    const { url } = await answers(body);
    const expected = { code: 1, stderr: 'error: empty query\n  --\n  ^\n' };
    expect(await run(['query', '--url', url, '--', '--'])).toEqual({ ...expected, stdout: '' });
    expect(await run(['query', '--json', '--url', url, '--', '--'])).toEqual({
      ...expected,
      stdout: JSON.stringify(body),
    });
  });

  test('another object is no answer', async () => {
    const { url } = await answers({ status: 'fine' });
    expect(await run(['query', 'x', '--url', url])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('it is neither a table nor an acknowledgement'),
    });
  });

  test.each([
    ['is not UTF-8', [Uint8Array.of(0xff)], 'The SQL on the standard input is not UTF-8.'],
    ['ends inside a character', [Uint8Array.of(0xc3)], 'The SQL on the standard input is not UTF-8.'],
    ['is endless', [new Uint8Array(2 ** 20), new Uint8Array(1)], 'The SQL on the standard input is longer than 1 MiB.'],
  ])('SQL that %s is not sent', async (_name, stdin, message) => {
    const { url, requests } = await answers({ ddl: 'OK' });
    const { code, stderr } = await run(['query', '-', '--url', url], { stdin });
    expect(code).toBe(2);
    expect(stderr).toMatch(/\nhint: .+\n$/);
    expect(stderr).toContain(`error: ${message}\n`);
    expect(requests).toEqual([]);
  });
});
