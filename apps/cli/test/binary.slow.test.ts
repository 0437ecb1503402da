// The real binary as a process: broken connections and memory.
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CLOSES, expectEndsSilently, expectSaysClosed, HEAD, ROWS } from './broken-connections.ts';
import { startBinary } from './run.ts';
import { sendJson, startStandIn } from './stand-in.ts';

const MIB = 1024 * 1024;

/** The peak memory of the process, in bytes. */
async function peakBytes(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

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

  test.each(CLOSES.flatMap(([how, meet]) => argvs.map((argv) => [argv, how, meet] as const)))(
    'svc %j says so where it is done %s, and ends with 3',
    (argv, _how, meet) => expectSaysClosed(argv, meet),
  );
});

describe('a reader that closes the pipe', () => {
  test.each([['--limit=1,'], ['--json'], ['--csv']])('ends the request and the process silently (%s)', (flag) =>
    expectEndsSilently(flag),
  );
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
