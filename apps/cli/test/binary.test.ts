// The real binary as a process: signals and pipes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CLOSES, expectEndsSilently, expectSaysClosed, HEAD, ROWS } from './broken-connections.ts';
import { BINARY, runBinary, startBinary } from './run.ts';
import { sendJson, startStandIn } from './stand-in.ts';

test('wrong usage ends the process with 2 and no stack', async () => {
  expect(await runBinary(['pign'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'error: svc has no command "pign".\nhint: Did you mean svc ping?\n',
  });
});

test.each(CLOSES)('a server that closes every connection at once, %s, is an error that ends svc with 3', (_how, meet) =>
  expectSaysClosed(['get', 't'], meet),
);

test('a promise that never settles ends svc with an error and leaves no partial file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-out-'));
  const never = { NODE_OPTIONS: '--import=data:text/javascript,globalThis.fetch=()=>new%20Promise(()=>{})' };
  try {
    expect(await runBinary(['get', 't', '-o', join(folder, 'x.csv')], '', never)).toEqual({
      code: 3,
      stdout: '',
      stderr: expect.stringMatching(
        /^error: Internal error: svc has no pending work but has not finished\.\nhint: .+\n$/,
      ),
    });
    expect(await readdir(folder)).toEqual([]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

describe('Ctrl-C', () => {
  test('ends a hanging request with 130 and no message', async () => {
    const stand = await startStandIn((request) => {
      request.socket.on('close', () => child.emit('hung-up'));
      child.kill('SIGINT');
    });
    const child = startBinary(['query', 'select 1', '--url', stand.url]);
    const hungUp = once(child, 'hung-up');
    expect(await child.ran).toEqual({ code: 130, stdout: '', stderr: '' });
    await hungUp;
  });

  test('aborts an upload, even while it waits for input', async () => {
    let isWhole: boolean | undefined;
    const stand = await startStandIn((request) => {
      request.on('error', () => {}).on('close', () => (isWhole = request.complete));
      request.once('data', () => child.kill('SIGINT'));
    });
    const child = startBinary(['put', 't', '-', '--fmt', 'json', '--url', stand.url]);
    child.stdin.write('[{"id":1}');
    expect(await child.ran).toEqual({ code: 130, stdout: '', stderr: '' });
    await expect.poll(() => isWhole).toBe(false);
  });
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s leaves nothing of a file that is not complete, and ends with %d', async (signal, code) => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-out-'));
  const stand = await startStandIn((_, response) => {
    response.writeHead(200, { 'content-type': 'text/csv' }).write('id\r\n');
  });
  const child = startBinary(['get', 't', '-o', join(folder, 'x.csv'), '--url', stand.url]);
  try {
    const partSize = async (): Promise<number | undefined> => {
      const [part] = await readdir(folder);
      return part === undefined ? undefined : (await stat(join(folder, part))).size;
    };
    await expect.poll(partSize).toBe(4);
    child.kill(signal);
    expect(await child.ran).toEqual({ code, stdout: '', stderr: '' });
    expect(await readdir(folder)).toEqual([]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a reader that goes away ends the request and the process silently', () => expectEndsSilently('--csv'));

test('a truncated response ends with 3 and without the last line of a table', async () => {
  const { url } = await startStandIn((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write(`${HEAD}${ROWS},${ROWS},[1`, () => response.destroy());
  });
  const { code, stdout, stderr } = await runBinary(['get', 't', '--url', url]);
  expect(code).toBe(3);
  expect(stderr).toContain('error: The connection broke before the response was complete.\n');
  expect(stdout).not.toMatch(/rows?\n$/);
});

test.runIf(process.platform === 'linux')('a full disk is an error, not a short file', async () => {
  const { url } = await startStandIn((_, response) => sendJson(response, `${HEAD}${ROWS}],"count":1000}`));
  const full = await open('/dev/full', 'w');
  try {
    const child = spawn(process.execPath, [BINARY, 'get', 't', '--url', url], { stdio: ['ignore', full.fd, 'pipe'] });
    let stderr = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    await once(child, 'close');
    expect({ code: child.exitCode, stderr }).toEqual({
      code: 2,
      stderr:
        'error: The output cannot be written: no space is left.\nhint: Free some space, or write to another disk.\n',
    });
  } finally {
    await full.close();
  }
});
