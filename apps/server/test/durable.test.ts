import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { LOCAL_LISTENERS } from '../../../tools/local-listeners.js';
import { runToEnd, type ServerProcess, startProcess } from './server-process.ts';

function dataDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'svc-data-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

async function rowsOf(server: ServerProcess, handle: string): Promise<unknown> {
  const response = await server.fetch(`/exec?handle=${handle}&fmt=json`);
  const { dataset } = (await response.json()) as { dataset?: unknown };
  return dataset ?? response.status;
}

async function kill(server: ServerProcess): Promise<void> {
  server.child.kill('SIGKILL');
  await server.exited;
}

describe('with storage.data_dir', () => {
  test('acknowledged frames survive kill -9, and dropped ones do not', async () => {
    const directory = dataDirectory();
    const first = await startProcess({ args: ['--data-dir', directory] });
    const put = await first.put('trades', [{ id: 1, tags: ['a', null], deep: { big: 9007199254740991 } }]);
    expect([put.status, await put.json()]).toMatchObject([201, { handle: 'trades', rows: 1 }]);
    await first.put('trades', [{ id: 2 }, { id: 3 }]);
    await first.put('gone', [{ id: 1 }]);
    expect((await first.fetch('/frames/gone', { method: 'DELETE' })).status).toBe(204);
    await kill(first);
    const second = await startProcess({ args: ['--data-dir', directory] });
    expect(await rowsOf(second, 'trades')).toEqual([[2], [3]]);
    expect(await rowsOf(second, 'gone')).toBe(404);
    expect(await (await second.fetch('/frames')).json()).toMatchObject({
      frames: [{ handle: 'trades', rows: 2, tier: expect.stringMatching(/^(memory|disk)$/) }],
    });
    await expect.poll(() => readdirSync(join(directory, 'cold', 'default'))).toHaveLength(1);
  });

  test('etag, version and expiry of a frame survive a restart', { tags: ['slow'] }, async () => {
    const directory = dataDirectory();
    const first = await startProcess({ args: ['--data-dir', directory] });
    const put = await first.put('t', [{ id: 1 }], { query: '?ttl=3600' });
    const { version, expires, created } = (await put.json()) as Record<string, string>;
    const etag = put.headers.get('etag') ?? '';
    await kill(first);
    const second = await startProcess({ args: ['--data-dir', directory] });
    const known = await second.fetch('/exec?handle=t&fmt=json', { headers: { 'if-none-match': etag } });
    expect(known.status).toBe(304);
    expect(await (await second.fetch('/frames/t')).json()).toMatchObject({ version, expires, created });
  });

  test('the log names the cause of a frame that cannot be read', async () => {
    const directory = dataDirectory();
    mkdirSync(join(directory, 'cold'));
    writeFileSync(join(directory, 'cold', 'broken.parquet'), 'no parquet at all');
    const server = await startProcess({ args: ['--data-dir', directory] });
    await server.fetch('/frames');
    const line = await server.logged(({ message }) => message === 'A frame cannot be read and is skipped.');
    expect(line).toMatchObject({
      handle: 'broken',
      cause: expect.stringMatching(/^The frame "broken" cannot be read\. /),
    });
  });

  test('a second server on the directory refuses to start and names the holder', async () => {
    const directory = dataDirectory();
    const holder = await startProcess({ args: ['--data-dir', directory] });
    const { code, stderr } = await runToEnd([...LOCAL_LISTENERS, '--data-dir', directory]);
    expect(code).toBe(1);
    expect(stderr).toContain(`in use by process ${holder.child.pid}`);
    await holder.put('t', [{ id: 1 }]);
    expect(await rowsOf(holder, 't')).toEqual([[1]]);
  });

  test('a file put into the directory is a frame without a restart, and read-only', async () => {
    const directory = dataDirectory();
    const server = await startProcess({ args: ['--data-dir', directory] });
    expect(await rowsOf(server, 'mine')).toBe(404);
    writeFileSync(join(directory, 'cold', 'mine.csv'), 'id,name\n1,x\n2,\n');
    expect(await rowsOf(server, 'mine')).toEqual([
      [1, 'x'],
      [2, null],
    ]);
    for (const refused of [
      await server.put('mine', [{ id: 1 }]),
      await server.fetch('/frames/mine', { method: 'DELETE' }),
    ]) {
      expect([refused.status, await refused.json()]).toMatchObject([403, { code: 'permission_denied' }]);
    }
    const { headers } = await server.fetch('/exec?handle=mine&fmt=json');
    const again = await server.fetch('/exec?handle=mine&fmt=json', {
      headers: { 'if-none-match': headers.get('etag') ?? '' },
    });
    expect(again.status).toBe(304);
    writeFileSync(join(directory, 'cold', 'broken.parquet'), 'no parquet at all');
    const broken = await server.fetch('/exec?handle=broken&fmt=json');
    expect([broken.status, await broken.json()]).toMatchObject([400, { code: 'invalid_data' }]);
    expect(await rowsOf(server, 'mine')).toHaveLength(2);
  });

  test('compression.algorithm decides how large the files are', { tags: ['slow'] }, async () => {
    const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, text: `row ${id % 7}` }));
    const bytesWith = async (algorithm: string): Promise<number> => {
      const server = await startProcess({
        args: ['--data-dir', dataDirectory()],
        env: { SERVICE_COMPRESSION: algorithm },
      });
      return ((await (await server.put('t', rows)).json()) as { bytes: number }).bytes;
    };
    const [zstd, none] = [await bytesWith('zstd'), await bytesWith('none')];
    expect(zstd).toBeLessThan(none);
  });

  test('CSV is read with detected or given types', async () => {
    const server = await startProcess({ args: ['--data-dir', dataDirectory()] });
    const put = (query: string, body: string): Promise<Response> =>
      server.fetch(`/frames/t${query}`, { method: 'PUT', body, headers: { 'content-type': 'text/csv' } });
    const types = async (response: Response): Promise<unknown> => {
      const { columns } = (await response.json()) as { columns: { name: string; type: string }[] };
      return columns.map(({ name, type }) => [name, type]);
    };
    expect(await types(await put('', 'id,price,day\n1,1.5,2024-01-02\n2,,\n'))).toEqual([
      ['id', 'LONG'],
      ['price', 'DOUBLE'],
      ['day', 'DATE'],
    ]);
    expect(await rowsOf(server, 't')).toEqual([
      [1, 1.5, '2024-01-02T00:00:00.000Z'],
      [2, null, null],
    ]);
    const said = await put('?header=false&delimiter=;&columns=a:STRING,b:INT', '1;2\n3;4\n');
    expect(await types(said)).toEqual([
      ['a', 'STRING'],
      ['b', 'INT'],
    ]);
    expect(await rowsOf(server, 't')).toEqual([
      ['1', 2],
      ['3', 4],
    ]);
    const bad = await put('?columns=a:INT,b:INT&header=false', '1,2\n3,x\n');
    const { code, error } = (await bad.json()) as { code: string; error: string };
    expect([bad.status, code]).toEqual([400, 'invalid_data']);
    expect(error).toMatch(/^Line 2 .*"b"/);
    expect(error).not.toMatch(/svc-data|\/tmp/);
    expect(await rowsOf(server, 't')).toHaveLength(2);
  });

  test('rows are appended, also from another format, and appends at once all end up in the frame', async () => {
    const server = await startProcess({ args: ['--data-dir', dataDirectory()] });
    const append = (body: string, type = 'application/json'): Promise<Response> =>
      server.fetch('/frames/t', { method: 'POST', body, headers: { 'content-type': type } });
    expect((await append('[{"id":1,"s":"a"}]')).status).toBe(201);
    // A string in the frame stays a string, even if it looks like a number.
    const appended = await append('s,id\n007,2\n', 'text/csv');
    expect([appended.status, await appended.json()]).toMatchObject([200, { rows: 2 }]);
    await Promise.all([3, 4, 5].map((id) => append(`[{"id":${id},"s":"x"}]`)));
    const rows = (await rowsOf(server, 't')) as [number, string][];
    expect(rows.map(([id]) => id).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5]);
    expect(rows.find(([id]) => id === 2)).toEqual([2, '007']);
    const lacking = await append('[{"id":6}]');
    expect([lacking.status, (await rowsOf(server, 't')) as unknown[]]).toEqual([
      200,
      expect.arrayContaining([[6, null]]),
    ]);
    const wrong = await append('id\n1\n', 'text/csv');
    expect([wrong.status, await wrong.json()]).toMatchObject([
      400,
      { code: 'invalid_data', error: expect.stringContaining('"s"') },
    ]);
  });

  test('exported Parquet is put again with every type, whole and in part', { tags: ['slow'] }, async () => {
    const server = await startProcess({ args: ['--data-dir', dataDirectory()] });
    await server.put('t', [
      { id: '9007199254740993', big: 2 ** 60, text: 'a', tags: [1, null], deep: { x: 1.5 } },
      { id: null, big: 2, text: '', tags: [], deep: null },
    ]);
    for (const part of ['', '&cols=text,deep', '&limit=2,2', '&limit=0']) {
      const out = await server.fetch(`/exp?handle=t&fmt=parquet${part}`);
      const back = await server.fetch('/frames/back', {
        method: 'PUT',
        body: await out.arrayBuffer(),
        headers: { 'content-type': out.headers.get('content-type') ?? '' },
      });
      expect(back.ok).toBe(true);
      const [before, after] = await Promise.all(
        [`t&fmt=json${part}`, 'back&fmt=json'].map(async (query) =>
          (await server.fetch(`/exec?handle=${query}`)).json(),
        ),
      );
      expect(after).toEqual({ ...(before as object), query: 'handle:back' });
    }
  });
});
