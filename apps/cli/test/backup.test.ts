// Backups of a directory that a real server holds, with the real binaries.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { BINARY, run, runBinary, spawnBinary } from './run.ts';

let folder: string;
let data: string;
let backup: string;
let restored: string;
const servers: ChildProcess[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-backup-'));
  [data, backup, restored] = ['data', 'backup', 'restored'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
});

afterEach(async () => {
  await Promise.all(servers.splice(0).map(kill));
  await rm(folder, { recursive: true });
});

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** Starts a server with the frames of a directory; resolves to its URL. */
async function serve(directory: string): Promise<string> {
  const listen = ['--http-bind-address=127.0.0.1:0', '--grpc-host=127.0.0.1', '--grpc-port=0', '--log-format=json'];
  const child = spawnBinary(['serve', ...listen, `--data-dir=${directory}`]);
  servers.push(child);
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stderr })) {
    lines.push(line);
    const { http } = JSON.parse(line);
    if (http === undefined) continue;
    child.stderr.resume();
    return http;
  }
  throw new Error(`The server ended:\n${lines.join('\n')}`);
}

async function send(url: string, path: string, method: string, rows: readonly object[]): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(rows) });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
}

const get = async (url: string, path: string): Promise<string> => (await fetch(`${url}${path}`)).text();

const rowsFrom = (start: number, count: number): object[] =>
  Array.from({ length: count }, (_, at) => ({ id: start + at, text: `row ${start + at}`, half: (start + at) / 2 }));

const idsOf = (csv: string): number[] => csv.trim().split('\r\n').slice(1).map(Number);

test(
  'a server of the restored directory has the same cells, etags and expiries; every file matches its checksums',
  { tags: ['slow'], timeout: 180_000 },
  async () => {
    const url = await serve(data);
    await send(url, '/frames/trades', 'PUT', rowsFrom(0, 1000));
    for (const start of [1000, 1500]) await send(url, '/frames/trades', 'POST', rowsFrom(start, 500));
    await send(url, '/frames/short?ttl=100000', 'PUT', rowsFrom(7, 3));
    expect(await runBinary(['backup', data, backup])).toEqual({
      code: 0,
      stdout: expect.stringMatching(/: 2 frames, \d+ bytes\n$/),
      stderr: '',
    });
    // What changes now is not in the backup.
    const cells = await get(url, '/exp?handle=trades&fmt=csv');
    const list = JSON.parse(await get(url, '/frames'));
    await send(url, '/frames/trades', 'PUT', rowsFrom(5, 5));
    expect(await runBinary(['restore', backup, restored])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/: 2 frames as of \d{4}-\d\d-\d\dT[\d:.]+Z\n$/),
    });
    expect((await run(['doctor', restored])).stdout).toMatch(/^ok {7}2 frames match their checksums/);
    const again = await serve(restored);
    expect(await get(again, '/exp?handle=trades&fmt=csv')).toBe(cells);
    const withoutTier = (frames: readonly object[]) => frames.map((frame) => ({ ...frame, tier: '' }));
    const listAgain = async () => withoutTier(JSON.parse(await get(again, '/frames')).frames);
    // The list has the rows of a frame once its file is read.
    await expect.poll(listAgain).toEqual(withoutTier(list.frames));
  },
);

test(
  'backups of a server that writes have every acknowledged row, also if the server is then killed',
  { tags: ['slow'], timeout: 180_000 },
  async () => {
    const url = await serve(data);
    await send(url, '/frames/log', 'PUT', rowsFrom(0, 10));
    let acknowledged = 10;
    const running = new AbortController();
    const writer = (async () => {
      while (!running.signal.aborted) {
        await send(url, '/frames/log', 'POST', rowsFrom(acknowledged, 10));
        acknowledged += 10;
        await send(url, '/frames/other', 'PUT', rowsFrom(acknowledged, 50));
      }
    })().catch((error: unknown) => {
      if (!running.signal.aborted) throw error;
    });
    for (let round = 0; round < 5; round += 1) {
      const [copy, target] = [`${backup}${round}`, `${restored}${round}`];
      const before = acknowledged;
      expect(await runBinary(['backup', data, copy])).toMatchObject({ code: 0, stderr: '' });
      if (round === 4) {
        running.abort();
        await Promise.all(servers.splice(0).map(kill));
        await writer;
      }
      expect(await runBinary(['restore', copy, target])).toMatchObject({ code: 0, stderr: '' });
      const ids = idsOf((await run(['get', target, 'log', '--csv', '--all', '--cols', 'id'])).stdout);
      expect(ids.length).toBeGreaterThanOrEqual(before);
      expect(ids).toEqual(Array.from({ length: ids.length }, (_, at) => at));
      expect((await run(['doctor', target])).code).toBe(0);
    }
  },
);

describe('kill -9', () => {
  const HANDLES = Array.from({ length: 40 }, (_, at) => `t${at}`);

  /** Runs the binary and kills it after a time. */
  async function runAndKill(argv: readonly string[], afterMs: number): Promise<number | null> {
    const child = spawn(process.execPath, [BINARY, ...argv], { stdio: 'ignore' });
    const ended = once(child, 'exit');
    const timer = setTimeout(() => child.kill('SIGKILL'), afterMs);
    await ended;
    clearTimeout(timer);
    return child.exitCode;
  }

  test(
    'at any moment leaves a whole backup or none, and restored frames or none',
    { tags: ['slow'], timeout: 180_000 },
    async () => {
      const url = await serve(data);
      for (const handle of HANDLES) await send(url, `/frames/${handle}`, 'PUT', rowsFrom(0, 2000));
      const whole = join(folder, 'whole');
      const began = performance.now();
      expect(await runBinary(['backup', data, whole])).toMatchObject({ code: 0 });
      const tookMs = performance.now() - began;
      const outcomes = { backups: 0, broken: 0, restored: 0, empty: 0 };
      const ROUNDS = 12;
      for (let round = 1; round <= ROUNDS; round += 1) {
        // From a time at which nothing can be complete to one at which everything is.
        const lifeMs = round === ROUNDS ? 60_000 : (tookMs * round) / (ROUNDS - 1);
        const [copy, target] = [`${backup}${round}`, `${restored}${round}`];
        await runAndKill(['backup', data, copy], lifeMs);
        const { code, stderr } = await runBinary(['restore', copy, target]);
        if (code === 0) outcomes.backups += 1;
        else outcomes.broken += 1;
        expect(code === 0 || /not a complete backup/.test(stderr), stderr).toBe(true);
        expect(existsSync(join(target, 'cold'))).toBe(code === 0);
        if (code === 0) expect((await readdir(join(target, 'cold/default'))).length).toBe(HANDLES.length);
        await rm(target, { recursive: true, force: true });

        await runAndKill(['restore', whole, target], lifeMs);
        const isThere = existsSync(join(target, 'cold'));
        if (isThere) outcomes.restored += 1;
        else outcomes.empty += 1;
        if (isThere) expect((await readdir(join(target, 'cold/default'))).length).toBe(HANDLES.length);
        else expect(await runBinary(['restore', whole, target])).toMatchObject({ code: 0, stderr: '' });
      }
      expect(
        Object.values(outcomes).every((count) => count > 0),
        JSON.stringify(outcomes),
      ).toBe(true);
    },
  );
});

describe('a refusal is a sentence and a hint:', () => {
  test.each<[string, readonly string[], number, RegExp]>([
    [
      'no such directory',
      ['backup', './no-such', './b'],
      2,
      /The frames in "\.\/no-such" cannot be opened: there is no such directory\./,
    ],
    [
      'no parent',
      ['backup', '.', './no/such/parent'],
      2,
      /The backup failed at ".*\/no\/such\/parent": there is no such directory\./,
    ],
    ['a file', ['backup', '.', './package.json'], 2, /The backup failed at ".*": it is not a directory\./],
    ['no backup', ['restore', './no-such', './r'], 1, /"\.\/no-such" is not a complete backup/],
    ['one argument', ['restore', './b'], 2, /svc restore needs <directory>\./],
  ])('%s', async (_name, argv, code, message) => {
    const ran = await run(argv);
    expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code, stdout: '' });
    expect(ran.stderr).toMatch(message);
    expect(ran.stderr).toMatch(/\nhint: .+\n$/);
  });

  test('frames of a later version', { tags: ['slow'] }, async () => {
    await run(['put', data, 't', '-', '--fmt', 'json'], { stdin: '[{"a":1}]' });
    await writeFile(join(data, 'cold/.format'), '{"format":3}');
    for (const argv of [
      ['list', data],
      ['doctor', data],
      ['backup', data, backup],
      ['put', data, 't', '-', '--fmt', 'json'],
    ]) {
      const { code, stderr } = await run(argv, { stdin: '[]' });
      expect({ argv, code }).toEqual({ argv, code: 1 });
      expect(stderr).toMatch(/A later version wrote the directory/);
    }
    expect(existsSync(backup)).toBe(false);
    const { code, stderr } = await runBinary([
      'serve',
      '--http-bind-address=127.0.0.1:0',
      '--grpc-port=0',
      `--data-dir=${data}`,
    ]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('it has format 3, and this one reads'),
    });
  });
});

test('files of others are in the backup, and counted apart', async () => {
  await run(['put', data, 't', '-', '--fmt', 'json'], { stdin: '[{"a":1}]' });
  for (const name of ['cold/prices.csv', 'cold/default/fills.csv', 'cold/notes.txt']) {
    await writeFile(join(data, name), 'id\n1\n');
  }
  const { code, stdout } = await run(['backup', data, backup]);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/: 1 frame, 2 files of others, \d+ bytes\n$/),
  });
  await run(['restore', backup, restored]);
  expect((await run(['list', restored])).stdout).toMatch(/\nfills .*\nprices .*\nt .*\n3 frames\n$/);
});

test('a damaged frame is in the backup, and a warning', { tags: ['slow'] }, async () => {
  for (const handle of ['whole', 'broken']) {
    await run(['put', data, handle, '-', '--fmt', 'json'], { stdin: JSON.stringify(rowsFrom(0, 100)) });
  }
  const cold = join(data, 'cold/default/broken');
  const file = (await readdir(cold)).find((name) => name.endsWith('.parquet'))!;
  const bytes = await readFile(join(cold, file));
  bytes[60] ^= 1;
  await writeFile(join(cold, file), bytes);
  const { code, stdout, stderr } = await run(['backup', data, backup]);
  expect({ code, stdout }).toEqual({ code: 4, stdout: expect.stringContaining(': 2 frames, ') });
  expect(stderr).toMatch(/^warning: In the backup: The frame "broken" is damaged: /);
});

test('a verification that fails is a warning: the backup is complete', { tags: ['slow'] }, async () => {
  await run(['put', data, 't', '-', '--fmt', 'json'], { stdin: '[{"a":1}]' });
  // The verification needs a temporary directory; the backup does not.
  vi.stubEnv('TMPDIR', join(folder, 'no-such'));
  const { code, stdout, stderr } = await run(['backup', data, backup]).finally(() => vi.unstubAllEnvs());
  expect({ code, stdout }).toEqual({ code: 4, stdout: expect.stringContaining(': 1 frame, ') });
  expect(stderr).toMatch(
    /^warning: The backup is complete, but not verified\. The verification failed at ".*no-such.*": .* Verify it with svc doctor\.\n$/,
  );
  expect(await run(['restore', backup, restored])).toMatchObject({ code: 0 });
});
