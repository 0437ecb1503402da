// Frames in a directory, without a server.
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Ran, run } from './run.ts';

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
  test('puts, lists, describes, gets and drops frames', async () => {
    expect(await put('trades')).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^trades: 2 rows, version [0-9A-Z]{26} \(new\)\n$/),
      stderr: '',
    });
    expect((await run(['list', data, 'tra'])).stdout).toMatch(/\ntrades +2 .*\n1 frame\n$/);
    expect((await run(['list', data, 'x'])).stdout).toMatch(/\n0 frames\n$/);
    expect(JSON.parse((await run(['describe', data, 'trades', '--json'])).stdout)).toMatchObject({
      handle: 'trades',
      rows: 2,
      tier: 'disk',
    });
    expect((await run(['get', data, 'trades'])).stdout).toContain(
      '\n9007199254740993  a\n               2  null\n2 rows\n',
    );
    expect((await run(['get', data, 'trades', '--csv', '--limit', '2,2'])).stdout).toBe('id,s\r\n2,\r\n');
    expect(await run(['drop', data, 'trades'])).toEqual({ code: 0, stdout: 'dropped trades\n', stderr: '' });
    expect(await run(['get', data, 'trades'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'error: There is no frame "trades".\nhint: svc list prints all handles.\n',
    });
  });

  test('with frames of other tenants only says so beside the empty list', async () => {
    await put('trades', ROWS, '--tenant', 'alpha');
    const stderr = 'hint: The directory has 1 frame of other tenants; --tenant <name> selects one.\n';
    expect(await run(['list', data])).toEqual({ code: 0, stdout: expect.stringMatching(/\n0 frames\n$/), stderr });
    expect(await run(['list', data, '--json'])).toEqual({ code: 0, stdout: '{"frames":[]}\n', stderr });
    expect(await run(['list', data, '--tenant', 'beta'])).toMatchObject({ stderr });
    expect(await run(['list', data, '--tenant', 'alpha'])).toMatchObject({ stderr: '' });
    expect(await run(['list', data, 'tra'])).toMatchObject({ stderr: '' });
    await run(['drop', data, 'trades', '--tenant', 'alpha']);
    expect(await run(['list', data])).toMatchObject({ stderr: '' });
  });

  test('names the cause of a damaged frame in one sentence', async () => {
    await put('trades');
    const own = join(data, 'cold/default/trades');
    const part = (await readdir(own)).find((name) => name.endsWith('.parquet')) ?? '';
    await writeFile(join(own, part), 'no parquet at all');
    expect((await run(['get', data, 'trades'])).stderr).toMatch(
      /\nwarning: The cause is: The stored file is damaged: [^.]+\.\nerror: /,
    );
  });

  test('is not changed by reads', async () => {
    await mkdir(data);
    await writeFile(join(data, 'prices.csv'), 'day\n1\n');
    expect((await run(['list', data])).stdout).toMatch(/\n1 frame\n$/);
    expect(await readdir(data)).toEqual(['prices.csv']);
  });

  test.each([
    ['list', ['list', './no-such-directory'], 'there is no such directory', 'svc put creates one.'],
    ['get', ['get', './no-such-directory', 't'], 'there is no such directory', 'svc put creates one.'],
    ['a file', ['get', './package.json', 't'], 'it is not a directory', 'svc convert reads single files.'],
  ])('is not made by %s', async (_name, argv, reason, hint) => {
    const { code, stdout, stderr } = await run(argv);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toBe(
      `error: The frames in ${JSON.stringify(argv[1])} cannot be opened: ${reason}.\nhint: ${stderr.split('hint: ')[1]}`,
    );
    expect(stderr).toContain(hint);
  });

  test('is created, but not its parents', async () => {
    expect(await run(['put', join(data, 'no', 'such'), 't', '-', '--fmt', 'json'], { stdin: ROWS })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('cannot be opened: there is no such directory.\n'),
    });
  });

  test('and a server at once are refused', async () => {
    expect(await run(['list', data, '--url', 'http://127.0.0.1:1'])).toEqual({
      code: 2,
      stdout: '',
      stderr: `error: ${JSON.stringify(data)} is a directory, and --url names a server.\nhint: Give one of them.\n`,
    });
    expect((await run(['list', data], { env: { SVC_URL: 'nonsense' } })).stderr).toContain('no such directory');
  });
});

describe('put --append', () => {
  test('appends rows, or creates the frame, and refuses --if-new', { tags: ['slow'] }, async () => {
    expect((await put('t', ROWS, '--append')).stdout).toMatch(/^t: 2 rows, .* \(new\)\n$/);
    expect((await put('t', '[{"id":3,"s":"x"}]', '--append')).stdout).toMatch(/^t: 3 rows, .* \(appended\)\n$/);
    expect(await put('t', '[{"other":3}]', '--append')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('other'),
    });
    expect(await put('t', ROWS, '--append', '--if-new')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'error: --append and --if-new cannot be combined.\nhint: Give one of them.\n',
    });
  });
});
