// The real binary against the real server.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run, runBinary, spawnBinary, startBinary } from './run.ts';

const ONE = { columns: [{ name: '1', type: 'INT' }], dataset: [[1]], count: 1 };
const SQL_ERROR = { query: 'select nosuch', error: 'Invalid column: nosuch', position: 7 };
const ROWS = '[{"id":9007199254740993,"price":1.5,"sym":"a"},{"id":2,"price":null,"sym":"null"},{"id":3,"sym":"é\\n"}]';

const tsdb = createServer((request, response) => {
  const isRight = request.url?.includes('select+1') || request.url?.includes('select%201');
  const isCsv = isRight && request.url?.startsWith('/exp?');
  response.writeHead(isRight ? 200 : 400, { 'content-type': isCsv ? 'text/csv' : 'application/json' });
  response.end(isCsv ? '1\r\n1\r\n' : JSON.stringify(isRight ? ONE : SQL_ERROR));
});

const children: ChildProcess[] = [];
let url: string;
let grpc: string;

/** Starts `svc serve` and waits for the line that says it is ready. */
async function startServer(): Promise<{ child: ChildProcess; http: string; grpc: string }> {
  const { port } = tsdb.address() as AddressInfo;
  const listen = ['--http-bind-address=127.0.0.1:0', '--grpc-host=127.0.0.1', '--grpc-port=0'];
  const child = spawnBinary(['serve', ...listen, `--tsdb-url=http://127.0.0.1:${port}`, '--log-format=json']);
  children.push(child);
  for await (const line of createInterface({ input: child.stderr })) {
    const ready = JSON.parse(line);
    if (ready.http === undefined) continue;
    child.stderr.resume();
    return { child, http: ready.http, grpc: `http://${ready.grpc}` };
  }
  throw new Error('The server ended before it was ready.');
}

async function stopServer(child: ChildProcess): Promise<number | null> {
  const isRunning = child.exitCode === null && child.signalCode === null;
  if (isRunning && child.kill('SIGINT')) await once(child, 'exit');
  return child.exitCode;
}

beforeAll(async () => {
  await new Promise<void>((resolve) => void tsdb.listen(0, '127.0.0.1', resolve));
  ({ http: url, grpc } = await startServer());
});

afterAll(async () => {
  await Promise.all(children.map(stopServer));
  await new Promise((resolve) => tsdb.close(resolve));
});

const svc = (argv: readonly string[], stdin?: string): ReturnType<typeof runBinary> =>
  runBinary([...argv, '--url', url], stdin);

test('a frame is put, read, listed and dropped', async () => {
  expect(await svc(['ping'])).toEqual({ code: 0, stdout: expect.stringMatching(/^ok \(\d+\.\d ms\)\n$/), stderr: '' });
  expect(await svc(['put', 'trades', '-', '--fmt', 'json'], ROWS)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^trades: 3 rows, version \w+ \(new\)\n$/),
  });
  expect((await svc(['get', 'trades'])).stdout.split('\n')).toEqual([
    '              id   price  sym',
    '            LONG  DOUBLE  STRING',
    '────────────────  ──────  ──────',
    '9007199254740993     1.5  a',
    '               2    null  "null"',
    '               3    null  é\\n',
    '3 rows',
    '',
  ]);
  expect((await svc(['get', 'trades', '--limit', '2,2', '--cols', 'sym,id'])).stdout.split('\n').slice(-3)).toEqual([
    '"null"     2',
    '1 of 3 rows',
    '',
  ]);
  expect((await svc(['get', 'trades', '--json', '--limit', '1'])).stdout).toBe(
    '{"query":"handle:trades","columns":[{"name":"id","type":"LONG"},{"name":"price","type":"DOUBLE"},' +
      '{"name":"sym","type":"STRING"}],"dataset":[[9007199254740993,1.5,"a"]],"count":1}',
  );
  expect((await svc(['list', 'tra'])).stdout).toMatch(/\ntrades +3 +\d+ +3 .* never .*\n1 frame\n$/);
  expect((await svc(['list', 'x'])).stdout).toMatch(/\n0 frames\n$/);
  expect((await svc(['describe', 'trades'])).stdout).toMatch(
    /^handle +trades\nrows +3\n[^]*\nid +LONG +yes\n[^]*\n3 columns\n$/,
  );
  expect(await svc(['drop', 'trades'])).toEqual({ code: 0, stdout: 'dropped trades\n', stderr: '' });
});

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
  expect((await svc(['get', 'many'])).stdout).toMatch(/\n 999\n1000 of 1500 rows \(--limit 1, prints all\)\n$/);
  expect((await svc(['get', 'many', '--csv'])).stdout.split('\r\n')).toHaveLength(1502);
  expect(JSON.parse((await svc(['get', 'many', '--json'])).stdout)).toMatchObject({ count: 1500 });
});

test('the doctor finds the running server at its ports and at its URL', async () => {
  const { port } = new URL(grpc);
  const env = { SERVICE_HTTP_BIND_ADDRESS: new URL(url).host, SERVICE_GRPC_HOST: '127.0.0.1', SERVICE_GRPC_PORT: port };
  const { code, stdout } = await run(['doctor', '--url', url], { env });
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /\nok +The HTTP address \S+ is held by a running data-frame server, version \S+, up for \d+ s\.\n/,
  );
  expect(stdout).toMatch(/\nok +The gRPC address \S+ is held by a running data-frame server\.\n/);
  expect(stdout).toMatch(/\nok +The server \S+ answers: ok, version \S+\.\n$/);
});

test('a frame with a life is replaced, unless it must be new', async () => {
  await svc(['put', 'again', '-', '--fmt', 'json'], ROWS);
  expect((await svc(['put', 'again', '-', '--fmt', 'json', '--ttl', '3600'], '[{"id":1}]')).stdout).toContain(
    'again: 1 row, ',
  );
  expect((await svc(['list', 'again'])).stdout).not.toContain('never');
  expect(await svc(['put', 'again', '-', '--fmt', 'json', '--if-new'], ROWS)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^error: .*"again".*\nhint: Choose another handle, or leave --if-new out/),
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
    [['get', 'nosuch'], 'error: There is no frame "nosuch".\nhint: svc list prints the handles there are.\n'],
    [['drop', 'nosuch'], 'error: There is no frame "nosuch".\nhint: svc list prints the handles there are.\n'],
    [['get', 'x', '--limit', '1.5'], 'limit="1.5"'],
    [['get', 'x', '--limit', '-1'], 'limit="-1"'],
    [['put', 'a b', '-', '--fmt', 'json'], '"a b" is not a valid handle.'],
    [['put', 'x', '-', '--fmt', 'json'], 'error: '],
  ])('svc %j', async (argv, message) => {
    const { code, stdout, stderr } = await svc(argv, '{"not":"rows"}');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(message);
  });
});

test('SQL goes through to the database, and its errors come back with their place', async () => {
  expect((await svc(['query', 'select 1'])).stdout).toBe('  1\nINT\n───\n  1\n1 row\n');
  expect((await svc(['query', 'select 1', '--csv'])).stdout).toBe('1\r\n1\r\n');
  expect(await svc(['query', '-'], 'select nosuch')).toEqual({
    code: 1,
    stdout: '',
    stderr: 'error: Invalid column: nosuch\n  select nosuch\n         ^\n',
  });
});

test('SQL that is too long for the database is refused with a sentence', async () => {
  expect(await svc(['query', '-'], `select '${'x'.repeat(1_000_000)}'`)).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^error: The encoded request has \d+ bytes; .*\nhint: Shorten the SQL.*\n$/),
  });
});

describe('serve', () => {
  test('ends at SIGTERM also while it starts', async () => {
    const child = startBinary(['serve', '--http-bind-address=127.0.0.1:0', '--grpc-host=127.0.0.1', '--grpc-port=0']);
    child.stderr.once('data', () => child.kill('SIGTERM'));
    expect([0, 143]).toContain((await child.ran).code);
  });

  test('stops in order at Ctrl-C', async () => {
    const { child, http } = await startServer();
    expect(await stopServer(child)).toBe(0);
    expect(await runBinary(['ping', '--url', http])).toMatchObject({ code: 3 });
  });

  test('passes its flags on, wrong ones too', async () => {
    expect(await runBinary(['serve', '--grpc-port', 'x'])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('--grpc-port'),
    });
    expect(await runBinary(['serve', '--help'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('--http-bind-address'),
    });
  });
});
