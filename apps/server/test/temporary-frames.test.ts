import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { LOCAL_LISTENERS } from '../../../tools/local-listeners.js';
import { runToEnd, type ServerProcess, startProcess } from './server-process.ts';

/** A folder that servers use as the system's temporary directory. */
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-tmp-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The folders of servers without a path for frames. */
function foldersIn(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.startsWith('svc-frames-'));
}

function startIn(TMPDIR: string): Promise<ServerProcess> {
  return startProcess({ env: { TMPDIR } });
}

describe('without a path for frames', () => {
  test('they are files in a private folder, removed at shutdown', async () => {
    const folder = temporaryFolder();
    const server = await startIn(folder);
    expect((await server.put('trades', [{ id: 1 }])).status).toBe(201);
    const headers = { 'content-type': 'text/csv' };
    const csv = await server.fetch('/frames/prices', { method: 'PUT', body: 'a;b\n1;x\n', headers });
    expect([csv.status, await csv.json()]).toMatchObject([201, { rows: 1 }]);
    const table = await (await server.fetch('/exec?handle=prices&fmt=json')).json();
    expect(table).toMatchObject({ dataset: [[1, 'x']] });
    const [name = ''] = foldersIn(folder);
    expect(statSync(join(folder, name)).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(folder, name, 'default'))).toHaveLength(2);
    server.child.kill('SIGTERM');
    expect(await server.exited).toEqual({ code: 0, signal: null });
    expect(readdirSync(folder)).toEqual([]);
  });

  test(
    'those that a killed server left are removed by the next one, and those of a running one are not',
    { tags: ['slow'] },
    async () => {
      const folder = temporaryFolder();
      const [killed, running] = [await startIn(folder), await startIn(folder)];
      await killed.put('left', [{ id: 1 }]);
      await running.put('kept', [{ id: 2 }]);
      expect(foldersIn(folder)).toHaveLength(2);
      killed.child.kill('SIGKILL');
      await killed.exited;
      const next = await startIn(folder);
      expect(foldersIn(folder)).toHaveLength(2);
      expect((await next.fetch('/frames/left')).status).toBe(404);
      expect((await running.fetch('/exec?handle=kept&fmt=json')).status).toBe(200);
    },
  );

  test('foreign files next to them stay, with any name', { tags: ['slow'] }, async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'svc-frames-note'), 'a note');
    const young = mkdtempSync(join(folder, 'svc-frames-'));
    const server = await startIn(folder);
    expect(foldersIn(folder)).toHaveLength(3);
    expect(readdirSync(folder)).toContain('svc-frames-note');
    expect(statSync(young).isDirectory()).toBe(true);
    expect((await server.put('t', [{ id: 1 }])).status).toBe(201);
  });
});

test.each([
  [
    'a temporary folder that is not there',
    (path: string) => ({ TMPDIR: join(path, 'no') }),
    /does not exist.*--data-dir/,
  ],
  ['a temporary folder that is a file', (path: string) => ({ TMPDIR: join(path, 'file') }), /not a directory.*TMPDIR/],
  [
    'a path that is a file',
    (path: string) => ({ SERVICE_PARQUET_PATH: join(path, 'file') }),
    /not a directory.*parquet_path/,
  ],
])('%s is an error with exit code 1 and a sentence that names it', async (_, environment, sentence) => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'file'), '');
  const { code, stderr } = await runToEnd(LOCAL_LISTENERS, environment(folder));
  expect(code).toBe(1);
  expect(stderr).toMatch(sentence);
  expect(stderr).toContain(folder);
  expect(stderr).not.toContain('    at ');
});

test.runIf(process.platform === 'linux')('a path that cannot be created is exit code 1 with a sentence', async () => {
  const { code, stderr } = await runToEnd([...LOCAL_LISTENERS, '--data-dir', '/proc/svc']);
  expect(code).toBe(1);
  expect(stderr).toMatch(/\/proc\/svc\/cold.*it does not exist and cannot be created.*data_dir/);
});
