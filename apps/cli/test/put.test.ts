import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { run } from './run.ts';
import { bodyOf, sendJson, type StandIn, startStandIn } from './stand-in.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-put-'));
});

afterAll(() => rm(folder, { recursive: true }));

async function fileOf(name: string, text = 'bytes'): Promise<string> {
  await writeFile(join(folder, name), text);
  return join(folder, name);
}

interface Upload {
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly encoding: string | undefined;
  readonly body: string;
}

function startUploads(seen: Upload[]): Promise<StandIn> {
  return startStandIn(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
    seen.push({
      path: pathname,
      params: Object.fromEntries(searchParams),
      encoding: request.headers['content-encoding'],
      body: await bodyOf(request),
    });
    sendJson(response, { rows: 3, version: 'v1' }, 201);
  });
}

describe('a file without a handle', () => {
  test.each([
    ['trades.csv', 'trades', { fmt: 'csv' }, undefined],
    ['trades.tsv', 'trades', { fmt: 'csv', delimiter: '\t' }, undefined],
    ['My trades.csv.gz', 'My_trades', { fmt: 'csv' }, 'gzip'],
    ['trades.2024.ndjson.zst', 'trades.2024', { fmt: 'ndjson' }, 'zstd'],
  ])('%s becomes the frame %s, and its bytes are sent as they are', async (name, handle, params, encoding) => {
    const seen: Upload[] = [];
    const { url } = await startUploads(seen);
    expect(await run(['put', await fileOf(name), '--url', url])).toEqual({
      code: 0,
      stdout: `${handle}: 3 rows, version v1 (new)\n`,
      stderr: '',
    });
    expect(seen).toEqual([{ path: `/frames/${handle}`, params, encoding, body: 'bytes' }]);
  });

  test('can be put into a directory', async () => {
    const data = join(folder, 'shop');
    const file = await fileOf('prices.tsv', 'day\tclose, adjusted\n2024-01-02\t101.5\n');
    expect(await run(['put', data, file], { errorWidth: 100 })).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^prices: 1 row, version \S+ \(new\)\n$/),
      stderr: expect.stringMatching(/(^|\r)try: svc query \S+\/shop 'select \* from prices limit 10'\n$/),
    });
    expect((await run(['get', data, 'prices', '--ndjson'])).stdout).toContain('"close, adjusted":101.5');
  });

  test('a delimiter and a format that are given win over the name', async () => {
    const seen: Upload[] = [];
    const { url } = await startUploads(seen);
    await run(['put', await fileOf('a.tsv'), '--delimiter', ';', '--url', url]);
    await run(['put', await fileOf('b.tsv.gz'), '--fmt', 'json', '--url', url]);
    expect(seen.map(({ params, encoding }) => [params, encoding])).toEqual([
      [{ fmt: 'csv', delimiter: ';' }, undefined],
      [{ fmt: 'json' }, 'gzip'],
    ]);
  });
});

test.each([
  ['trades', "'select * from trades limit 10'", 'trades'],
  ['order', `'select * from "order" limit 10'`, 'order'],
  ['a-b.c', `'select * from "a-b.c" limit 10'`, 'a-b.c'],
])('on a terminal, a put of %s ends with the SQL and the link to try', async (handle, sql, inUrl) => {
  const { url } = await startUploads([]);
  const { stdout, stderr } = await run(['put', handle, await fileOf('x.csv'), '--url', url], { errorWidth: 100 });
  expect(stdout).toBe(`${handle}: 3 rows, version v1 (new)\n`);
  expect(stderr).toBe(
    `try: svc query --engine local --url ${url} ${sql}\n     ${url}/exec?handle=${inUrl}&fmt=json&limit=10\n`,
  );
});

test('the command to try has the flags of the place, and the token file is read once', async () => {
  const token = await fileOf('token', 'svc_secret');
  const { url } = await startStandIn(async (request, response) => {
    await bodyOf(request);
    await rm(token);
    sendJson(response, { rows: 3, version: 'v1' }, 201);
  });
  const csv = await fileOf('x.csv', 'id\n1\n');
  const sent = await run(['put', 'x', csv, '--url', url, '--token-file', token], { errorWidth: 100 });
  expect([sent.code, sent.stdout]).toEqual([0, 'x: 3 rows, version v1 (new)\n']);
  expect(sent.stderr).toContain(`try: svc query --engine local --url ${url} --token-file ${token} 'select`);
  const local = await run(['put', join(folder, 'data'), 'x', csv, '--tenant', 'alpha'], { errorWidth: 100 });
  expect(local.stderr).toContain(`try: svc query ${join(folder, 'data')} --tenant alpha 'select`);
});

test('two files are not a handle and a file', async () => {
  const before = process.cwd();
  onTestFinished(() => process.chdir(before));
  await fileOf('one.csv');
  await fileOf('two.csv');
  process.chdir(folder);
  const seen: Upload[] = [];
  const { url } = await startUploads(seen);
  expect(await run(['put', 'one.csv', 'two.csv', '--url', url])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/^error: "one\.csv" is a file too, and svc put takes one file\.\nhint: /),
  });
  expect(seen).toEqual([]);
  expect(await run(['put', 'three.csv', 'two.csv', '--url', url])).toMatchObject({ code: 0 });
});
