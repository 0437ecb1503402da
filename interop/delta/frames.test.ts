// Frames of a real server, as other programs read them: after each kind of change the same rows as over HTTP.
import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { blocksOf, isAsShown } from '../../test/shown-blocks.ts';
import { startServer } from '../../tools/server-process.js';
import { byAll, type Readers, startReaders } from './readers.ts';

const SVC = fileURLToPath(new URL('../../apps/cli/bin/svc.js', import.meta.url));
const PAGE = new URL('../../docs/delta.md', import.meta.url);

type Server = Awaited<ReturnType<typeof startServer>>;

let readers: Readers;
let root: string;
let server: Server;

beforeAll(() => {
  readers = startReaders();
});

afterAll(() => readers.end());

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'svc-delta-frames-'));
  server = await startServer(['--data-dir', join(root, 'data')]);
});

afterEach(async () => {
  await server.stop();
  await rm(root, { recursive: true });
});

async function send(method: string, path: string, body?: unknown): Promise<void> {
  const response = await fetch(`${server.url}/frames/${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(await response.text());
}

const put = (rows: readonly object[], handle = 't'): Promise<void> => send('PUT', handle, rows);
const append = (rows: readonly object[], handle = 't'): Promise<void> => send('POST', handle, rows);

async function appendEach(from: number, to: number, onAppended: (rows: number) => void = () => {}): Promise<void> {
  for (let id = from; id < to; id++) {
    await append([{ id }]);
    onAppended(id + 1);
  }
}

/** The rows of a frame over HTTP, in the order of the readers' rows. */
async function rowsOf(handle: string): Promise<readonly unknown[]> {
  const text = await (await fetch(`${server.url}/exp?handle=${handle}&fmt=ndjson`)).text();
  const rows = text.trim().split('\n').filter(Boolean);
  return rows.map((row) => JSON.parse(row) as { id: number }).toSorted((a, b) => a.id - b.id);
}

const folderOf = (handle: string, data = 'data'): string => join(root, data, 'cold/default', handle);
const byId = (rows: unknown): unknown => (Array.isArray(rows) ? rows.toSorted((a, b) => a.id - b.id) : rows);

/** What every reader sees, in the order of the ids. */
async function seen(handle: string, data?: string): Promise<unknown> {
  const read = await readers.read(folderOf(handle, data));
  return Object.fromEntries(Object.entries(read).map(([name, rows]) => [name, byId(rows)]));
}

async function numbersIn(handle: string): Promise<readonly number[]> {
  const names = await readdir(join(folderOf(handle), '_delta_log'));
  return names.filter((name) => name.endsWith('.json')).map((name) => Number.parseInt(name, 10));
}

const CHANGES: readonly (readonly [what: string, handle: string, change: () => Promise<void>])[] = [
  ['a put', 't', () => put([{ id: 1, name: 'a' }])],
  ['a replace with other columns', 't', () => put([{ id: 1 }]).then(() => put([{ id: 2, name: 'b', price: 1.5 }]))],
  ['150 appends, of which parts are merged and entries are removed', 't', () => appendEach(0, 150)],
  ['changes of the expiry', 't', () => appendEach(0, 70).then(() => send('PATCH', 't', { ttl: 3600 }))],
  [
    'a rename of a frame whose old entries are gone',
    'u',
    () => appendEach(0, 70).then(() => send('PATCH', 't', { handle: 'u' })),
  ],
  [
    'a replace with other columns, among entries that were removed',
    't',
    async () => {
      await appendEach(0, 60);
      await put([{ id: 1, when: '2026-01-01T00:00:00Z', tags: ['x', null] }]);
      for (let id = 2; id < 70; id++) await append([{ id, when: null, tags: [] }]);
    },
  ],
  [
    'a drop and a put',
    't',
    async () => {
      await appendEach(0, 70);
      await send('DELETE', 't');
      await put([{ id: 9 }]);
    },
  ],
];

test.each(CHANGES)('after %s', async (_, handle, change) => {
  await change();
  const rows = await rowsOf(handle);
  expect(rows.length).toBeGreaterThan(0);
  expect(await seen(handle)).toEqual(byAll(rows));
});

test('among 200 appends, while old entries are removed', async () => {
  for (let id = 0; id < 200; id += 8) {
    await appendEach(id, id + 8);
    expect(await seen('t')).toEqual(byAll(await rowsOf('t')));
  }
  expect(Math.min(...(await numbersIn('t')))).toBeGreaterThan(100);
});

describe('a backup', () => {
  test.each([1, 50, 100])('of a frame after %i appends is read before and after it was restored', async (appends) => {
    await appendEach(0, appends);
    for (const args of [
      ['backup', 'data', 'saved'],
      ['restore', 'saved', 'restored'],
    ]) {
      expect(spawnSync(process.execPath, [SVC, ...args], { cwd: root }).status).toBe(0);
    }
    const rows = await rowsOf('t');
    expect(await seen('t', 'saved')).toEqual(byAll(rows));
    expect(await seen('t', 'restored')).toEqual(byAll(rows));
    await server.stop();
    server = await startServer(['--data-dir', join(root, 'restored')]);
    await appendEach(appends, appends + 70);
    expect(await seen('t', 'restored')).toEqual(byAll(await rowsOf('t')));
  });
});

test('after kill -9, before the next start and after it', async () => {
  let next = 0;
  for (let round = 0; round < 8; round++) {
    const end = next + 20 + 9 * round;
    const onAppended = (rows: number): void => void (rows === end && process.kill(server.pid ?? 0, 'SIGKILL'));
    await expect(appendEach(next, Infinity, onAppended)).rejects.toThrow();
    const found = await seen('t');
    server = await startServer(['--data-dir', join(root, 'data')]);
    const rows = await rowsOf('t');
    expect(rows.length).toBeGreaterThanOrEqual(end);
    expect(found).toEqual(byAll(rows));
    expect(await seen('t')).toEqual(byAll(rows));
    next = rows.length;
  }
});

test('the programs of docs/delta.md print what the page shows', async () => {
  const folder = await mkdtemp(join(root, 'page-'));
  const input = 'id,symbol,price\n1,BTC,44957.97\n2,ETH,2355.84\n';
  expect(
    spawnSync(process.execPath, [SVC, 'put', './data', 'trades', '-', '--fmt', 'csv'], { cwd: folder, input }).status,
  ).toBe(0);
  const blocks = blocksOf(await readFile(PAGE, 'utf8'));
  const programs = blocks.flatMap((block, at) => {
    const shown = blocks[at + 1];
    return block.language === 'python' && block.mark === '' && shown ? [[block.text, shown] as const] : [];
  });
  expect(programs).toHaveLength(3);
  for (const [program, shown] of programs) {
    const python = process.env['SVC_PYTHON'] ?? 'python3';
    const { stdout, stderr } = spawnSync(python, ['-c', program], { cwd: folder, encoding: 'utf8' });
    expect(isAsShown(stdout, shown), stdout + stderr).toBe(true);
  }
});
