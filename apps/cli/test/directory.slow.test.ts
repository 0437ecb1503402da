// Frames in a directory, without a server.
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Ran, run, startBinary } from './run.ts';

const ROWS = '[{"id":9007199254740993,"s":"a"},{"id":2,"s":null}]';

let folder: string;
let data: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-directory-'));
  data = join(folder, 'data');
});

afterEach(() => rm(folder, { recursive: true }));

const put = (handle: string, rows = ROWS, ...flags: readonly string[]): Promise<Ran> =>
  run(['put', data, handle, '-', '--fmt', 'json', ...flags], { stdin: rows });

describe('a directory instead of a server', () => {
  test('is one for svc serve --data-dir, if it was missing or empty', async () => {
    await put('t');
    expect(await readdir(data)).toEqual(['cold']);
    await mkdir(join(folder, 'empty'));
    await run(['put', join(folder, 'empty'), 't', '-', '--fmt', 'json'], { stdin: ROWS });
    expect(await readdir(join(folder, 'empty'))).toEqual(['cold']);
  });

  test('may be the folder of Parquet files itself, with files of others in it', async () => {
    await mkdir(data);
    await writeFile(join(data, 'prices.csv'), 'day,close\n2024-01-02,1.5\n');
    expect((await run(['get', data, 'prices', '--ndjson'])).stdout).toBe(
      '{"day":"2024-01-02T00:00:00.000Z","close":1.5}\n',
    );
    expect(await put('prices')).toMatchObject({ code: 1, stderr: expect.stringContaining('"prices" is read-only') });
    await put('mine');
    expect(await readdir(data)).toEqual(expect.arrayContaining(['default', 'prices.csv']));
    expect((await run(['get', join(data, '..', 'data'), 'mine', '--csv'])).code).toBe(0);
  });

  test('warns of a frame that cannot be read, and lists the others', async () => {
    await put('good');
    await writeFile(join(data, 'cold', 'broken.parquet'), 'no parquet at all');
    expect(await run(['list', data])).toEqual({
      code: 0,
      stdout: expect.stringMatching(/\ngood .*\n1 frame\n$/),
      stderr: 'warning: The frame "broken" cannot be read and is skipped.\n',
    });
  });

  test('is found under ~', async () => {
    await put('t');
    expect((await run(['list', '~/data'], { homeDir: folder })).stdout).toMatch(/\n1 frame\n$/);
    expect((await run(['list', '~'], { homeDir: data })).stdout).toMatch(/\n1 frame\n$/);
    expect(homedir()).not.toBe(folder);
  });

  test('has a Parquet file for every requested frame', async () => {
    await put('t');
    await run(['get', data, 't', '-o', join(folder, 'x.parquet')]);
    expect((await run(['put', data, 'again', join(folder, 'x.parquet')])).stdout).toMatch(/^again: 2 rows/);
    expect((await run(['get', data, 'again', '--ndjson'])).stdout).toBe(
      '{"id":9007199254740993,"s":"a"}\n{"id":2,"s":null}\n',
    );
  });

  test('that the system refuses is an error with the reason', async () => {
    await mkdir(data);
    await writeFile(join(data, 'default'), 'in the way of the frames');
    const { code, stdout, stderr } = await put('t');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error: The frames directory cannot be written: it is not a directory\.\nhint: /);
  });

  test('has responses that exceed --timeout', async () => {
    await put('t');
    expect(await run(['get', data, 't', '--timeout', '0.001'])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('did not answer within 0.001 s'),
    });
  });
});

describe('a directory that a server holds', () => {
  test('can be read; a change is refused and names the holder', async () => {
    await put('t');
    const listen = ['--http-bind-address=127.0.0.1:0', '--grpc-host=127.0.0.1', '--grpc-port=0', '--log-format=json'];
    const server = startBinary(['serve', ...listen, '--data-dir', data]);
    for await (const line of createInterface({ input: server.stderr })) if (line.includes('"ready"')) break;
    expect((await run(['get', data, 't', '--csv'])).stdout).toBe('id,s\r\n9007199254740993,a\r\n2,\r\n');
    const refused = {
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        new RegExp(
          `^error: Process ${server.pid} on ${hostname()} has held the directory ".*" since .*\\nhint: .*--url\\.\\n$`,
        ),
      ),
    };
    expect(await put('t')).toEqual(refused);
    expect(await run(['drop', data, 't'])).toEqual(refused);
    server.kill('SIGTERM');
    await server.ran;
    expect(await run(['drop', data, 't'])).toMatchObject({ code: 0 });
  });
});

/** Returns the descendants of a process. */
async function descendants(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const children = text.split(' ').filter(Boolean).map(Number);
  return [...children, ...(await Promise.all(children.map(descendants))).flat()];
}

test.runIf(process.platform === 'linux')('what a killed command has left is removed by the next', async () => {
  await put('t');
  const temporary = join(folder, 'tmp');
  await mkdir(temporary);
  const sql = 'select count(*) from range(100000000000) a, range(1000) b';
  const child = startBinary(['query', data, sql], { TMPDIR: temporary });
  await expect.poll(() => descendants(child.pid ?? 0)).not.toEqual([]);
  child.kill('SIGKILL');
  await child.ran;
  expect(await readdir(temporary)).toEqual([expect.stringMatching(/^svc-local-/)]);
  const next = startBinary(['query', data, 'select 1'], { TMPDIR: temporary });
  expect(await next.ran).toMatchObject({ code: 0 });
  expect(await readdir(temporary)).toEqual([]);
});

describe.runIf(process.platform === 'linux')('Ctrl-C', () => {
  test('ends a query in a directory, with every process and file it has made', async () => {
    await put('t');
    const temporary = join(folder, 'tmp');
    await mkdir(temporary);
    const sql = 'select count(*) from range(100000000000) a, range(1000) b';
    const child = startBinary(['query', data, sql], { TMPDIR: temporary });
    await expect.poll(() => descendants(child.pid ?? 0)).not.toEqual([]);
    const pids = await descendants(child.pid ?? 0);
    expect(await readdir(temporary)).toEqual([expect.stringMatching(/^svc-local-/)]);
    child.kill('SIGINT');
    expect(await child.ran).toEqual({ code: 130, stdout: '', stderr: '' });
    expect(await readdir(temporary)).toEqual([]);
    await expect.poll(() => pids.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
  });

  test('leaves no copy of a file that SQL needed', async () => {
    await mkdir(data);
    await writeFile(join(data, 'names.csv'), 'name\nAda\n');
    const temporary = join(folder, 'tmp');
    await mkdir(temporary);
    const child = startBinary(['query', data, 'select count(*) from names, range(1000000000000)'], {
      TMPDIR: temporary,
    });
    await expect.poll(() => readdir(temporary)).toHaveLength(2);
    child.kill('SIGINT');
    expect(await child.ran).toEqual({ code: 130, stdout: '', stderr: '' });
    expect(await readdir(temporary)).toEqual([]);
  });
});

describe('put --append', () => {
  test('of CSV uses the given options', async () => {
    const flags = ['--header', 'false', '--delimiter', ';', '--columns', 'id:LONG,s:STRING'];
    await writeFile(join(folder, 'x.csv'), '7;8\n');
    await run(['put', data, 't', join(folder, 'x.csv'), ...flags]);
    expect((await run(['get', data, 't', '--ndjson'])).stdout).toBe('{"id":7,"s":"8"}\n');
    await copyFile(join(folder, 'x.csv'), join(folder, 'x.json'));
    expect((await run(['put', data, 't', join(folder, 'x.json'), ...flags])).stderr).toBe(
      'error: --header applies to CSV only, and the format is json.\nhint: Leave it out.\n',
    );
  });
});
