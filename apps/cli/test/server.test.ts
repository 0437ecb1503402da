// The real binary against the real server.
import { describe, expect, test } from 'vitest';
import { SLOW } from '../../../test/tier.ts';
import { run, runBinary, startBinary } from './run.ts';
import { ROWS, serveTests, startServer, stopServer } from './served.ts';

const served = serveTests();
const { svc } = served;

const TABLE = [
  '              id   price  sym',
  '            LONG  DOUBLE  STRING',
  '────────────────  ──────  ──────',
  '9007199254740993     1.5  a',
  '               2    null  "null"',
  '               3    null  é\\n',
  '3 rows',
  '',
];

test('a frame is put, read and dropped', async () => {
  expect(await svc(['put', 'trades', '-', '--fmt', 'json'], ROWS)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^trades: 3 rows, version \w+ \(new\)\n$/),
  });
  expect((await svc(['get', 'trades'])).stdout.split('\n')).toEqual(TABLE);
  expect(await svc(['drop', 'trades'])).toEqual({ code: 0, stdout: 'dropped trades\n', stderr: '' });
});

test('a frame is listed, described and read in part', SLOW, async () => {
  expect(await svc(['ping'])).toEqual({ code: 0, stdout: expect.stringMatching(/^ok \(\d+\.\d ms\)\n$/), stderr: '' });
  expect(await svc(['put', 'parts', '-', '--fmt', 'json'], ROWS)).toMatchObject({ code: 0 });
  expect((await svc(['get', 'parts', '--limit', '2,2', '--cols', 'sym,id'])).stdout.split('\n').slice(-3)).toEqual([
    '"null"     2',
    '1 of 3 rows',
    '',
  ]);
  expect((await svc(['get', 'parts', '--json', '--limit', '1'])).stdout).toBe(
    '{"query":"handle:parts","columns":[{"name":"id","type":"LONG"},{"name":"price","type":"DOUBLE"},' +
      '{"name":"sym","type":"STRING"}],"dataset":[[9007199254740993,1.5,"a"]],"count":1}',
  );
  expect((await svc(['list', 'par'])).stdout).toMatch(/\nparts +3 +\d+ +3 .* never .*\n1 frame\n$/);
  expect((await svc(['list', 'x'])).stdout).toMatch(/\n0 frames\n$/);
  expect((await svc(['describe', 'parts'])).stdout).toMatch(
    /^handle +parts\nrows +3\n[^]*\nid +LONG +yes\n[^]*\n3 columns\n$/,
  );
});

test('the doctor finds the running server at its ports and at its URL', async () => {
  const { url, grpc } = served;
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

test('SQL is forwarded to the database, and its errors show their position', async () => {
  expect((await svc(['query', 'select 1'])).stdout).toBe('  1\nINT\n───\n  1\n1 row\n');
  expect((await svc(['query', 'select 1', '--csv'])).stdout).toBe('1\r\n1\r\n');
  expect(await svc(['query', '-'], 'select nosuch')).toEqual({
    code: 1,
    stdout: '',
    stderr: 'error: Invalid column: nosuch\n  select nosuch\n         ^\n',
  });
});

describe('serve', () => {
  test('ends at SIGTERM even while it starts, and is then never ready', async () => {
    const child = startBinary(['serve', '--http-bind-address=127.0.0.1:0', '--grpc-host=127.0.0.1', '--grpc-port=0']);
    child.stderr.once('data', () => child.kill('SIGTERM'));
    const { code, stderr } = await child.ran;
    expect([0, 143]).toContain(code);
    expect(stderr).toContain('warn');
    expect(stderr).not.toContain('ready');
  });

  test('shuts down cleanly at Ctrl-C', async () => {
    const { child, http } = await startServer();
    expect(await stopServer(child)).toBe(0);
    expect(await runBinary(['ping', '--url', http])).toMatchObject({ code: 3 });
  });

  test('forwards its flags, invalid ones too', async () => {
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
