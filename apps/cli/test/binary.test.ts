// The real binary as a process: signals, pipes, memory.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { mkdtemp, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BINARY, runBinary, startBinary } from './run.ts';
import { sendJson, startStandIn, startTcpStandIn } from './stand-in.ts';

const MIB = 1024 * 1024;
const HEAD = '{"query":"handle:t","columns":[{"name":"a","type":"LONG"},{"name":"s","type":"STRING"}],"dataset":[';
const ROWS = Array.from({ length: 1000 }, (_, i) => `[${i},"${'x'.repeat(50)}"]`).join(',');

/** The most memory the process ever had, in bytes. */
async function peakBytes(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

test('wrong usage ends the process with 2 and no stack', async () => {
  expect(await runBinary(['pign'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'error: svc has no command "pign".\nhint: Did you mean svc ping?\n',
  });
});

describe('a server that closes every connection at once', () => {
  const argvs = [
    ['ping'],
    ['list'],
    ['drop', 't'],
    ['get', 't'],
    ['describe', 't'],
    ['query', 'x'],
    ['put', 't', '-', '--fmt=json'],
  ];
  const ways = [
    ['in order', (socket: Socket): unknown => socket.end()],
    ['by a reset', (socket: Socket): unknown => socket.resetAndDestroy()],
  ] as const;

  test.each(ways.flatMap(([how, meet]) => argvs.map((argv) => [argv, how, meet] as const)))(
    'svc %j says so where it is done %s, and ends with 3',
    async (argv, _how, meet) => {
      const url = await startTcpStandIn(meet);
      expect(await runBinary([...argv, '--url', url], '[]')).toEqual({
        code: 3,
        stdout: '',
        stderr: expect.stringMatching(
          /^error: The request to \S+ failed: the server closed the connection without an answer\.\nhint: .+\n$/,
        ),
      });
    },
  );
});

test('a promise that never settles ends svc with a sentence, and leaves no half file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-out-'));
  const never = { NODE_OPTIONS: '--import=data:text/javascript,globalThis.fetch=()=>new%20Promise(()=>{})' };
  try {
    expect(await runBinary(['get', 't', '-o', join(folder, 'x.csv')], '', never)).toEqual({
      code: 3,
      stdout: '',
      stderr: expect.stringMatching(/^error: svc cannot go on: what it waits for will never come\.\nhint: .+\n$/),
    });
    expect(await readdir(folder)).toEqual([]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

describe('Ctrl-C', () => {
  test('ends a request that hangs with 130 and without a word', async () => {
    const stand = await startStandIn((request) => {
      request.socket.on('close', () => child.emit('hung-up'));
      child.kill('SIGINT');
    });
    const child = startBinary(['query', 'select 1', '--url', stand.url]);
    const hungUp = once(child, 'hung-up');
    expect(await child.ran).toEqual({ code: 130, stdout: '', stderr: '' });
    await hungUp;
  });

  test('breaks an upload off, also one that waits for its input', async () => {
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

describe('a reader that goes away', () => {
  test.each([['--limit=1,'], ['--json'], ['--csv']])('ends the request and the process silently (%s)', async (flag) => {
    let isOpen = true;
    const { url } = await startStandIn((_, response) => {
      const type = flag === '--csv' ? 'text/csv' : 'application/json';
      response
        .on('close', () => (isOpen = false))
        .writeHead(200, { 'content-type': type })
        .write(HEAD);
      const more = (): void => {
        while (response.write(`${ROWS},`));
      };
      response.on('drain', more);
      more();
    });
    const child = startBinary(['get', 't', flag, '--url', url]);
    child.stdout.once('data', () => child.stdout.destroy());
    expect(await child.ran).toMatchObject({ code: 0, stderr: '' });
    await expect.poll(() => isOpen).toBe(false);
  });
});

test('a cut answer ends with 3 and without the line that ends a table', async () => {
  const { url } = await startStandIn((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write(`${HEAD}${ROWS},${ROWS},[1`, () => response.destroy());
  });
  const { code, stdout, stderr } = await runBinary(['get', 't', '--url', url]);
  expect(code).toBe(3);
  expect(stderr).toContain('error: The connection broke in the middle of the answer; it is not complete.\n');
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
      stderr: 'error: The output cannot be written: no space is left.\nhint: Make some, or write to another disk.\n',
    });
  } finally {
    await full.close();
  }
});

describe.runIf(process.platform === 'linux')('memory stays small', () => {
  test('while a file is put', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-put-'));
    const path = join(folder, 'large.arrow');
    const file = await open(path, 'w');
    await file.truncate(400 * MIB);
    await file.close();
    let peak = 0;
    let bytes = 0;
    const stand = await startStandIn((request, response) => {
      request.on('data', (chunk: Buffer) => (bytes += chunk.length));
      request.on('end', () => {
        void peakBytes(child.pid).then((resident) => {
          peak = resident;
          sendJson(response, { rows: 1, version: 'v' }, 201);
        });
      });
    });
    const child = startBinary(['put', 't', path, '--url', stand.url]);
    try {
      expect(await child.ran).toMatchObject({ code: 0, stdout: 't: 1 row, version v (new)\n' });
      expect(bytes).toBe(400 * MIB);
      expect(peak).toBeLessThan(200 * MIB);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('while a long table is printed', async () => {
    const blocks = 1600;
    let peak = 0;
    const stand = await startStandIn(async (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write(HEAD);
      for (let i = 1; i <= blocks; i += 1) {
        if (!response.write(i < blocks ? `${ROWS},` : ROWS)) await once(response, 'drain');
      }
      peak = await peakBytes(child.pid);
      response.end(`],"count":${blocks * 1000}}`);
    });
    const child = startBinary(['get', 't', '--url', stand.url]);
    const { code, stdout } = await child.ran;
    expect({ code, last: stdout.slice(-13) }).toEqual({ code: 0, last: '1600000 rows\n' });
    expect(peak).toBeLessThan(200 * MIB);
  });
});
