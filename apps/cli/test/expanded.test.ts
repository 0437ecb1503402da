import { describe, expect, test } from 'vitest';
import { run } from './run.ts';
import { sendJson, startStandIn } from './stand-in.ts';

const COLUMNS = ['id', 'a name', '日本'].map((name) => ({ name, type: 'STRING' }));
const ROWS = [
  ['1', 'x'.repeat(100), 'null'],
  ['2', null, 'two\nlines'],
];

async function served(): Promise<string> {
  const { url } = await startStandIn((_, response) =>
    sendJson(response, { query: 'q', columns: COLUMNS, dataset: ROWS, count: 2 }, 200, { 'x-total-count': '2' }),
  );
  return url;
}

describe('--expanded', () => {
  test.each([
    ['get', 't'],
    ['query', 'select 1'],
  ])('prints one column per line of svc %s, and cuts no value', async (...argv) => {
    const url = await served();
    expect((await run([...argv, '-x', '--url', url], { width: 30 })).stdout.split('\n')).toEqual([
      `── row 1 ${'─'.repeat(21)}`,
      'id      1',
      `a name  ${'x'.repeat(100)}`,
      '日本    "null"',
      `── row 2 ${'─'.repeat(21)}`,
      'id      2',
      'a name  null',
      '日本    two\\nlines',
      '2 rows',
      '',
    ]);
  });

  test('is for tables only', async () => {
    expect(await run(['get', 't', '--expanded', '--csv'])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'error: --expanded applies to tables only, and the format is csv.\nhint: Leave it out.\n',
    });
  });
});

describe('--all', () => {
  test('leaves nothing out of a table on a terminal, and asks for all rows', async () => {
    const { url, requests } = await startStandIn((_, response) =>
      sendJson(response, { query: 'q', columns: COLUMNS, dataset: ROWS, count: 2 }, 200, { 'x-total-count': '2' }),
    );
    expect((await run(['get', 't', '--url', url], { width: 20 })).stdout).toContain(
      '\n2 columns not shown; use --expanded, --all or --csv\n2 rows\n',
    );
    expect((await run(['get', 't', '--all', '--url', url], { width: 20 })).stdout).toContain(
      `\n1       ${'x'.repeat(100)}  "null"\n`,
    );
    expect(requests).toEqual(['GET /exec?handle=t&fmt=json', 'GET /exec?handle=t&fmt=json&limit=1%2C']);
  });

  test('and --limit contradict each other', async () => {
    expect((await run(['query', 'x', '--all', '--limit', '3'])).stderr).toBe(
      'error: --all and --limit cannot be combined.\nhint: Give one of them.\n',
    );
  });
});
