import { chmod, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ENCODINGS } from '@svc/frames';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { run } from './run.ts';
import { sendJson, type StandIn, startStandIn } from './stand-in.ts';

const BYTES = { csv: 'id\r\n1\r\n', ndjson: '{"id":1}\n', arrow: '\u0000\u0001bytes', parquet: 'PAR1PAR1' };
const CSV = { 'content-type': 'text/csv; charset=utf-8' };
const TABLE = '{"query":"handle:t","columns":[{"name":"id","type":"LONG"}],"dataset":[[1]],"count":1}';

const NOT_A_SERVER = 'hint: Check that --url or SVC_URL names a data-frame server, and its base path if it has one.\n';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-out-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

function isExported(fmt: string): fmt is keyof typeof BYTES {
  return fmt in BYTES;
}

/** Answers as the server does: JSON at /exec, the other formats at /exp. */
function startFormats(): Promise<StandIn> {
  return startStandIn((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
    const fmt = searchParams.get('fmt') ?? '';
    if (pathname === '/exec' && fmt === 'json') return sendJson(response, TABLE);
    if (pathname === '/exp' && isExported(fmt)) {
      return response.writeHead(200, { 'content-type': ENCODINGS[fmt].out.contentType }).end(BYTES[fmt]);
    }
    return sendJson(response, { error: `No ${request.url}.` }, 400);
  });
}

describe('rows for programs', () => {
  test.each([
    ['--csv', BYTES.csv, 'GET /exp?handle=t&fmt=csv&limit=1%2C'],
    ['--ndjson', BYTES.ndjson, 'GET /exp?handle=t&fmt=ndjson&limit=1%2C'],
    ['--arrow', BYTES.arrow, 'GET /exp?handle=t&fmt=arrow&limit=1%2C'],
    ['--parquet', BYTES.parquet, 'GET /exp?handle=t&fmt=parquet&limit=1%2C'],
    ['--json', TABLE, 'GET /exec?handle=t&fmt=json&limit=1%2C'],
  ])('svc get %s prints the bytes of the server, all rows of them', async (flag, stdout, request) => {
    const { url, requests } = await startFormats();
    expect(await run(['get', 't', flag, '--url', url])).toEqual({ code: 0, stdout, stderr: '' });
    expect(requests).toEqual([request]);
  });

  test('--limit and --cols apply to them too', async () => {
    const { url, requests } = await startFormats();
    await run(['get', 't', '--csv', '--limit', '2,3', '--cols', 'b,a', '--url', url]);
    expect(requests).toEqual(['GET /exp?handle=t&fmt=csv&limit=2%2C3&cols=b%2Ca']);
  });

  test('svc query requests CSV from the database, and shows the position of an error', async () => {
    const { url, requests } = await startFormats();
    expect(await run(['query', 'select 1', '--csv', '--url', url])).toMatchObject({ code: 0, stdout: BYTES.csv });
    expect(requests).toEqual(['POST /exp?fmt=csv']);
    const failing = await startStandIn((_, response) => sendJson(response, { error: 'no x', position: 7 }, 400));
    expect((await run(['query', 'select x', '--csv', '--url', failing.url])).stderr).toBe(
      'error: no x\n  select x\n         ^\n',
    );
  });

  test('Arrow is not printed on a terminal, but written to a file', async () => {
    const { url, requests } = await startFormats();
    expect(await run(['get', 't', '--arrow', '--url', url], { width: 80 })).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(
        /^error: Arrow is a binary format .*\nhint: Write it to a file such as trades.arrows/,
      ),
    });
    expect((await run(['get', 't', '--parquet', '--url', url], { width: 80 })).stderr).toMatch(
      /^error: Parquet is a binary format .*\nhint: .* a file such as trades\.parquet, .*/,
    );
    expect(requests).toEqual([]);
    const file = join(folder, 'x.bin');
    expect(await run(['get', 't', '--arrow', '-o', file, '--url', url], { width: 80 })).toMatchObject({ code: 0 });
    expect(await readFile(file, 'utf8')).toBe(BYTES.arrow);
  });

  test('a connection that breaks half way is an error', async () => {
    const { url } = await startStandIn((_, response) => {
      response.writeHead(200, CSV).write('id\r\n1', () => response.destroy());
    });
    expect(await run(['get', 't', '--csv', '--url', url])).toEqual({
      code: 3,
      stdout: 'id\r\n1',
      stderr: expect.stringContaining('error: The connection broke before the response was complete.'),
    });
  });
});

test('requests no compression on the same machine', async () => {
  const encodings: unknown[] = [];
  const { url } = await startStandIn((request, response) => {
    encodings.push(request.headers['accept-encoding']);
    response.writeHead(200, CSV).end();
  });
  await run(['get', 't', '--csv', '--url', url]);
  await run(['get', 't', '--csv', '--url', url.replace('127.0.0.1', '0.0.0.0')]);
  expect(encodings).toEqual(['identity', expect.stringContaining('gzip')]);
});

test('rows for programs reach a terminal unchanged, and the help says so', async () => {
  const { url } = await startStandIn((_, response) => response.writeHead(200, CSV).end('s\r\n\u001b[2J\r\n'));
  expect((await run(['get', 't', '--csv', '--url', url], { width: 80 })).stdout).toBe('s\r\n\u001b[2J\r\n');
  expect((await run(['get', '--help'])).stdout).toMatch(/bytes of the server unchanged, even on a terminal/);
});

describe('-o', () => {
  test.each([
    ['x.csv', BYTES.csv],
    ['x.CSV', BYTES.csv],
    ['x.ndjson', BYTES.ndjson],
    ['x.jsonl', BYTES.ndjson],
    ['x.arrows', BYTES.arrow],
    ['x.parquet', BYTES.parquet],
    ['x.json', TABLE],
  ])('%s gets the format of its extension', async (name, text) => {
    const { url } = await startFormats();
    expect(await run(['get', 't', '-o', join(folder, name), '--url', url])).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
    expect(await readFile(join(folder, name), 'utf8')).toBe(text);
    expect(await readdir(folder)).toEqual([name]);
  });

  test.each([
    ['x.arrow', 'x.arrows'],
    ['dir.x/y.feather', 'dir.x/y.arrows'],
    ['x.IPC', 'x.arrows'],
  ])('rows of a query and a part of a frame are not written to %s, and %s is proposed', async (name, better) => {
    const { url, requests } = await startFormats();
    expect(await run(['get', 't', '--limit', '5', '-o', name, '--url', url])).toEqual({
      code: 2,
      stdout: '',
      stderr:
        `error: "${name}" names an Arrow IPC file, but a part of a frame is an IPC stream.\n` +
        `hint: Call it "${better}", or use --arrow to write an IPC stream under this name anyway.\n`,
    });
    const queried = await run(['query', 'x', '--engine', 'local', '-o', name, '--url', url]);
    expect(queried.stderr).toContain(`\nhint: Call it "${better}"`);
    expect(requests).toEqual([]);
  });

  test.each(['x.arrow', 'x.feather', 'x.IPC'])('a whole frame is written to %s as an Arrow IPC file', async (name) => {
    const { url, requests } = await startStandIn((_, response) =>
      response.writeHead(200, { 'content-type': 'application/vnd.apache.arrow.file' }).end('ARROW1'),
    );
    expect(await run(['get', 'a.b', '-o', join(folder, name), '--url', url])).toMatchObject({ code: 0, stderr: '' });
    expect(requests).toEqual(['GET /files/a.b.arrow']);
    expect(await readFile(join(folder, name), 'utf8')).toBe('ARROW1');
  });

  test('--arrow writes a stream to a file of any name', async () => {
    const { url } = await startFormats();
    await run(['get', 't', '--arrow', '-o', join(folder, 'x.feather'), '--url', url]);
    expect(await readFile(join(folder, 'x.feather'), 'utf8')).toBe(BYTES.arrow);
  });

  test('a flag wins over the extension, and - is standard output', async () => {
    const { url } = await startFormats();
    await run(['get', 't', '--csv', '--output', join(folder, 'x.json'), '--url', url]);
    expect(await readFile(join(folder, 'x.json'), 'utf8')).toBe(BYTES.csv);
    expect((await run(['get', 't', '--csv', '-o', '-', '--url', url])).stdout).toBe(BYTES.csv);
  });

  const pages = [
    ['a page', 200, { 'content-type': 'text/html; charset=utf-8' }, 'it is text/html, not text/csv'],
    ['a body without a type', 200, {}, 'it has no content type, and should be text/csv'],
    ['nothing', 204, {}, 'its status is 204, not 200'],
    ['a part', 206, CSV, 'its status is 206, not 200'],
  ] as const;
  test.each(pages)('%s with a success status is not accepted as rows', async (_name, status, headers, message) => {
    const { url } = await startStandIn((_, response) => response.writeHead(status, headers).end('<html>'));
    const file = join(folder, 'x.csv');
    await writeFile(file, 'old');
    for (const argv of [
      ['get', 't', '-o', file],
      ['get', 't', '--csv'],
      ['query', 'x', '-o', file],
      ['query', 'x', '--csv'],
    ]) {
      expect(await run([...argv, '--url', url])).toEqual({
        code: 3,
        stdout: '',
        stderr: `error: Cannot read the response: ${message}.\n${NOT_A_SERVER}`,
      });
    }
    expect(await readFile(file, 'utf8')).toBe('old');
    expect(await readdir(folder)).toEqual(['x.csv']);
  });

  test.each(['json', 'ndjson', 'csv', 'arrow', 'parquet'] as const)('--%s prints nothing of a page', async (format) => {
    const { url } = await startStandIn((_, r) => r.writeHead(200, { 'content-type': 'text/html' }).end('<html>'));
    const wanted = ENCODINGS[format].out.contentType.split(';')[0];
    expect(await run(['get', 't', `--${format}`, '--url', url])).toEqual({
      code: 3,
      stdout: '',
      stderr: `error: Cannot read the response: it is text/html, not ${wanted}.\n${NOT_A_SERVER}`,
    });
  });

  test.each([
    ['is refused', 1, (): ReturnType<typeof startStandIn> => startStandIn((_, r) => sendJson(r, { error: 'no' }, 404))],
    ['breaks half way', 3, () => startStandIn((_, r) => void r.writeHead(200, CSV).write('id', () => r.destroy()))],
  ])('leaves the old file, and nothing beside it, where the request %s', async (_name, code, start) => {
    const { url } = await start();
    const file = join(folder, 'x.csv');
    await writeFile(file, 'old');
    expect(await run(['get', 't', '-o', file, '--url', url])).toMatchObject({ code, stdout: '' });
    expect(await readFile(file, 'utf8')).toBe('old');
    expect(await readdir(folder)).toEqual(['x.csv']);
  });

  test('keeps the permissions of a file it replaces, and a link to it', async () => {
    const { url } = await startFormats();
    await writeFile(join(folder, 'real.csv'), 'old');
    await chmod(join(folder, 'real.csv'), 0o662);
    await symlink('real.csv', join(folder, 'link.csv'));
    await run(['get', 't', '-o', join(folder, 'link.csv'), '--url', url]);
    expect(await readFile(join(folder, 'real.csv'), 'utf8')).toBe(BYTES.csv);
    expect((await stat(join(folder, 'real.csv'))).mode & 0o777).toBe(0o662);
    expect((await readdir(folder)).toSorted()).toEqual(['link.csv', 'real.csv']);
  });

  test('writes to the target of a link, even if it does not exist yet', async () => {
    const { url } = await startFormats();
    await mkdir(join(folder, 'data'));
    await symlink('data', join(folder, 'dir'));
    await symlink('../far.csv', join(folder, 'data', 'near.csv'));
    await symlink('dir/near.csv', join(folder, 'link.csv'));
    expect(await run(['get', 't', '-o', join(folder, 'link.csv'), '--url', url])).toMatchObject({ code: 0 });
    expect(await readFile(join(folder, 'far.csv'), 'utf8')).toBe(BYTES.csv);
    expect(await readlink(join(folder, 'link.csv'))).toBe('dir/near.csv');
    expect(await readlink(join(folder, 'data', 'near.csv'))).toBe('../far.csv');
    expect((await readdir(folder)).toSorted()).toEqual(['data', 'dir', 'far.csv', 'link.csv']);
  });

  test.each([
    ['into a folder that is not there', 'no/x.csv', 'there is no such folder'],
    ['to itself', 'link.csv', 'its symbolic links form a loop'],
  ])('a link %s is an error, and stays', async (_name, target, message) => {
    const { url, requests } = await startFormats();
    await symlink(target, join(folder, 'link.csv'));
    expect(await run(['get', 't', '-o', join(folder, 'link.csv'), '--url', url])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`link.csv" cannot be written: ${message}.\nhint: `),
    });
    expect(await readdir(folder)).toEqual(['link.csv']);
    expect(requests).toEqual([]);
  });

  test.runIf(process.platform === 'linux')('writes to a device instead of replacing it', async () => {
    const { url } = await startFormats();
    expect(await run(['get', 't', '--csv', '-o', '/dev/null', '--url', url])).toMatchObject({ code: 0 });
    expect((await stat('/dev/null')).isCharacterDevice()).toBe(true);
    expect(await run(['get', 't', '--csv', '-o', '/dev/full', '--url', url])).toMatchObject({
      code: 2,
      stderr:
        'error: "/dev/full" cannot be written: no space is left.\nhint: Free some space, or write to another disk.\n',
    });
  });

  test('a file that cannot be written is an error before any request', async () => {
    const { url, requests } = await startFormats();
    await mkdir(join(folder, 'x.csv'));
    expect(await run(['get', 't', '-o', join(folder, 'no', 'x.csv'), '--url', url])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^error: ".*x\.csv" cannot be written: there is no such folder\.\nhint: Create the folder, .*\n$/,
      ),
    });
    expect(await run(['query', 'insert', '--engine', 'tsdb', '-o', join(folder, 'x.csv'), '--url', url])).toMatchObject(
      {
        code: 2,
        stderr: expect.stringMatching(
          /^error: ".*x\.csv" cannot be written: it is a directory\.\nhint: Name a file\.\n$/,
        ),
      },
    );
    expect(requests).toEqual([]);
  });
});
