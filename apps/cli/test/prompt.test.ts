// The prompt of svc query, typed into streams; terminal.test.ts has it on a real terminal.
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Output } from '../src/output/output.ts';
import { runCli } from '../src/run-cli.ts';
import { run } from './run.ts';
import { bodyOf, sendJson, startStandIn } from './stand-in.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-prompt-'));
});
afterEach(() => rm(folder, { recursive: true }));

interface Prompt {
  readonly ended: Promise<number>;
  type(keys: string): void;
  /** Resolves to the output since the last call, up to and including this text. */
  shows(text: string): Promise<string>;
}

function startPrompt(argv: readonly string[], env: Record<string, string> = {}): Prompt {
  const input = new PassThrough();
  const terminal = new PassThrough();
  let screen = '';
  terminal.setEncoding('utf8').on('data', (text: string) => (screen += text));
  const output: Output = {
    width: 60,
    isStyled: false,
    write: async (chunk) => void (screen += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()),
  };
  const ended = runCli(['query', ...argv], {
    version: '1.2.3',
    env: { SVC_HISTORY: join(folder, 'history'), ...env },
    homeDir: '',
    stdin: Readable.from([]),
    stdout: output,
    stderr: output,
    terminal: { input, output: terminal },
    signal: new AbortController().signal,
  });
  return {
    ended,
    type: (keys) => void input.write(keys),
    async shows(text) {
      await expect.poll(() => screen).toContain(text);
      const end = screen.indexOf(text) + text.length;
      const shown = screen.slice(0, end);
      screen = screen.slice(end);
      return shown;
    },
  };
}

function table(sql: string, rows: readonly unknown[][] = [[1, 'a']]): object {
  const columns = [
    { name: 'n', type: 'LONG' },
    { name: 's', type: 'STRING' },
  ];
  return { query: sql, columns, dataset: rows, count: rows.length };
}

const FRAME = {
  handle: 'trades',
  rows: 3,
  bytes: 24,
  columns: [{ name: 'price', type: 'DOUBLE', nullable: true }],
  created: 'c',
  version: 'v',
  expires: null,
  tier: 'disk',
};

/** A server that has one frame and answers every statement with a table. */
async function startServer(tsdb = 'configured'): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const info = { engines: tsdb === 'configured' ? ['local', 'tsdb'] : ['local'], defaultEngine: 'tsdb' };
  const { url } = await startStandIn(async (request, response) => {
    if (request.url === '/info') return sendJson(response, info);
    if (request.url?.startsWith('/frames?')) return sendJson(response, { frames: [FRAME] });
    if (request.url === '/frames/trades') return sendJson(response, FRAME);
    const sql = await bodyOf(request);
    asked.push(`${request.url} ${sql}`);
    if (sql.includes('wrong'))
      return sendJson(response, { error: 'It is wrong.', position: 7, hint: 'Be right.' }, 400);
    if (sql.includes('endless')) return undefined;
    if (request.url?.includes('fmt=csv'))
      return response.writeHead(200, { 'content-type': 'text/csv' }).end('n\r\n1\r\n');
    return sendJson(
      response,
      table(sql, [
        [1, 'a'],
        [3, 'b'],
      ]),
    );
  });
  return { url, asked };
}

describe('the prompt', () => {
  test('runs what a semicolon ends, over several lines, and several on one', async () => {
    const { url, asked } = await startServer();
    const prompt = startPrompt(['--engine', 'local', '--param', '7', '--url', url]);
    await prompt.shows('svc> ');
    prompt.type('select 1,\n');
    await prompt.shows('  -> ');
    prompt.type("';'; select 2;\n");
    await prompt.shows('2 rows\n');
    await prompt.shows('2 rows\n');
    prompt.type('\\q\n');
    expect(await prompt.ended).toBe(0);
    expect(asked).toEqual([
      "/exec?fmt=json&engine=local&param=7 select 1,\n';'",
      '/exec?fmt=json&engine=local&param=7 select 2',
    ]);
  });

  test.each([
    ['configured', '/exec?fmt=json&engine=tsdb select 1'],
    ['not_configured', '/exec?fmt=json&engine=local select 1'],
  ])('asks whom the server asks, but the frames where a database is not there: %s', async (tsdb, expected) => {
    const { url, asked } = await startServer(tsdb);
    const prompt = startPrompt(['--url', url]);
    prompt.type('select 1;\n');
    await prompt.shows('2 rows\n');
    prompt.type('\\q\n');
    expect(await prompt.ended).toBe(0);
    expect(asked).toEqual([expected]);
  });

  test('reports the problem and continues', async () => {
    const { url, asked } = await startServer();
    const prompt = startPrompt(['--url', url]);
    prompt.type('select wrong; select 2;\n');
    expect(await prompt.shows('hint: Be right.\n')).toContain('error: It is wrong.\n  select wrong\n         ^\n');
    prompt.type('select 3;\n');
    await prompt.shows('2 rows\n');
    expect(asked).toEqual(['/exec?fmt=json&engine=tsdb select wrong', '/exec?fmt=json&engine=tsdb select 3']);
    prompt.type('exit\n');
    expect(await prompt.ended).toBe(0);
  });

  test('ends a statement at Ctrl-C, and itself only at Ctrl-D', async () => {
    const { url, asked } = await startServer();
    const prompt = startPrompt(['--url', url]);
    await prompt.shows('svc> ');
    prompt.type('select endless;\n');
    await expect.poll(() => asked).toHaveLength(1);
    prompt.type('\u0003');
    await prompt.shows('Cancelled.\n');
    await prompt.shows('svc> ');
    prompt.type('half of a\n');
    await prompt.shows('  -> ');
    prompt.type('statement\u0003');
    await prompt.shows('^C\n');
    prompt.type('select 2;\n');
    await prompt.shows('2 rows\n');
    expect(asked.at(-1)).toBe('/exec?fmt=json&engine=tsdb select 2');
    prompt.type('\u0004');
    expect(await prompt.ended).toBe(0);
  });

  test('shows frames, columns, times, charts and formats', async () => {
    const { url } = await startServer();
    const prompt = startPrompt(['--url', url]);
    prompt.type('\\d\n');
    expect(await prompt.shows('1 frame\n')).toMatch(/\ntrades +3 /);
    prompt.type('\\d trades;\n');
    expect(await prompt.shows('1 column\n')).toMatch(/\nprice +DOUBLE +yes\n/);
    prompt.type('\\chart\n');
    await prompt.shows('hint: Run a query with numeric columns first');
    prompt.type('\\timing\nselect 1;\n');
    await prompt.shows('Times are shown.\n');
    expect(await prompt.shows(' ms\n')).toMatch(/2 rows\n[\d.]+ ms\n$/);
    prompt.type('\\chart\n');
    expect(await prompt.shows('n: 2 rows, min 1, max 3, mean 2\n')).toContain('\n3 │ █\n');
    prompt.type('\\chart s\n');
    await prompt.shows('it has no numeric column "s".\nhint: Use \\chart n.\n');
    prompt.type('\\format csv\nselect 1;\n');
    await prompt.shows('Results are printed as csv.\n');
    await prompt.shows('n\r\n1\r\n');
    prompt.type('\\format table\n\\x\nselect 1;\n');
    await prompt.shows('Tables have one column per line.\n');
    await prompt.shows('── row 2 ─');
    expect(await prompt.shows('2 rows\n')).toMatch(/\nn  3\ns  b\n2 rows\n$/);
    prompt.type('\\x\n');
    await prompt.shows('Tables have one row per line.\n');
    prompt.type('\\format jsn\n');
    await prompt.shows('hint: Did you mean \\format json?\n');
    prompt.type('\\format arrow\n');
    await prompt.shows(
      'There is no format "arrow" here.\nhint: Use \\format table or \\format json or \\format csv.\n',
    );
    prompt.type('\\help\n');
    await prompt.shows('quit, like Ctrl-D\n');
    prompt.type('\\tming\n\\d a b\n');
    await prompt.shows('There is no command "\\tming".\nhint: Did you mean \\timing?\n');
    await prompt.shows('\\d takes one word.');
    prompt.type('quit\n');
    expect(await prompt.ended).toBe(0);
  });

  test('completes at Tab', async () => {
    const { url, asked } = await startServer();
    const prompt = startPrompt(['--url', url]);
    await prompt.shows('svc> ');
    // One key at a time: readline treats keys that arrive together as pasted text, in which a Tab is a blank.
    for (const [keys, rest] of [
      ['select pri', 'ce'],
      [' fro', 'm'],
      [' tra', 'des'],
    ] as const) {
      prompt.type(keys);
      await prompt.shows(keys);
      prompt.type('\t');
      await prompt.shows(rest);
    }
    prompt.type(';\n');
    await prompt.shows('2 rows\n');
    expect(asked).toEqual(['/exec?fmt=json&engine=tsdb select price from trades']);
    prompt.type('\u0004');
    await prompt.ended;
  });

  test('saves whole statements for the next time', async () => {
    const { url, asked } = await startServer();
    const first = startPrompt(['--url', url]);
    first.type('select 1,\n 2;\n\\timing\n');
    await first.shows('Times are shown.\n');
    first.type('\u0004');
    await first.ended;
    expect(await readFile(join(folder, 'history'), 'utf8')).toBe('select 1, 2;\n\\timing\n');
    const second = startPrompt(['--url', url]);
    await second.shows('svc> ');
    second.type('\u001b[A');
    await second.shows('\\timing');
    second.type('\u001b[A');
    await second.shows('select 1, 2;');
    second.type('\n');
    await second.shows('2 rows\n');
    expect(asked.at(-1)).toBe('/exec?fmt=json&engine=tsdb select 1, 2');
    second.type('\u0004');
    await second.ended;
  });

  test('queries the frames of a directory', { tags: ['slow'] }, async () => {
    const data = join(folder, 'data');
    await run(['put', data, 'trades', '-', '--fmt', 'json'], { stdin: '[{"price":1.5},{"price":2.5}]' });
    const prompt = startPrompt([data]);
    prompt.type('select avg(price) as mean from trades;\n');
    expect(await prompt.shows('1 row\n')).toMatch(/\n +2\n1 row\n$/);
    prompt.type('insert into trades select price + 4 from trades; select sum(price) as sum from trades;\n');
    await prompt.shows('trades: 4 rows, version ');
    expect(await prompt.shows('1 row\n')).toMatch(/\n +16\n1 row\n$/);
    prompt.type('create table made (id int); drop table made; select * from trade;\n');
    await prompt.shows('made: 0 rows, version ');
    await prompt.shows('dropped made\n');
    expect(await prompt.shows('hint: ')).toContain('  select * from trade\n                ^\n');
    prompt.type('from range(100000000000);\n');
    await prompt.shows('\n  999\n');
    prompt.type('\u0003');
    await prompt.shows('Cancelled.\n');
    prompt.type('\u0004');
    expect(await prompt.ended).toBe(0);
  });

  test('does not start with a format for rows', async () => {
    const prompt = startPrompt(['--csv']);
    expect(await prompt.ended).toBe(2);
    await prompt.shows('error: No SQL is given, and a prompt prints tables only.\n');
  });

  test('ends at the end of its input, after running the lines before it', async () => {
    const { url, asked } = await startServer();
    const input = new PassThrough();
    const ended = runCli(['query', '--url', url], {
      version: '1.2.3',
      env: {},
      homeDir: '',
      stdin: Readable.from([]),
      stdout: { width: 60, isStyled: false, write: async () => {} },
      stderr: { width: 60, isStyled: false, write: async () => {} },
      terminal: { input, output: new PassThrough().resume() },
      signal: new AbortController().signal,
    });
    input.end('select 1;\n');
    await once(input, 'end');
    expect(await ended).toBe(0);
    expect(asked).toEqual(['/exec?fmt=json&engine=tsdb select 1']);
  });
});
