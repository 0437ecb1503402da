import { mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDecoders } from '@svc/frames';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { createFrameFiles } from '../../src/files/create-frame-files.ts';
import { createSqlEngine } from '../../src/sql/engine.ts';
import type { DurableStore } from '../../src/store/durable-store.ts';
import { rowsOf as sqlRows } from '../../src/testing/sql-fixture.ts';
import { createStoreFixture, listDescribed, refOf, type StoreFixture } from '../../src/testing/store-fixture.ts';

const COUNT = 400;
const files = createFrameFiles({ tempDirectory: tmpdir() });
const decoders = createDecoders();
let fixture: StoreFixture;

beforeEach(async () => {
  fixture = await createStoreFixture(files);
  await mkdir(fixture.folder);
  for (let i = 0; i < COUNT; i++) {
    const [extension, text] = i % 4 === 0 ? ['ndjson', '{"id":1}\n'] : ['csv', 'id\n1\n'];
    await writeFile(join(fixture.folder, `${handleOf(i)}.${extension}`), text);
  }
});
afterEach(() => fixture.remove());
afterAll(() => Promise.all([files.close(), decoders.close()]));

const handleOf = (i: number): string => `f${String(i).padStart(4, '0')}`;
const open = (): Promise<DurableStore> => fixture.open({ decoders });
const unknown = async (store: DurableStore): Promise<number> =>
  (await store.list('default')).filter(({ rows }) => rows === null).length;

test('a list of many foreign files has their names before their rows, and a read of one does not wait for the others', async () => {
  const store = await open();
  const listed = await store.list('default');
  expect(listed.map(({ handle }) => handle)).toEqual(Array.from({ length: COUNT }, (_, i) => handleOf(i)));
  expect(listed.at(-1)).toEqual({
    handle: handleOf(COUNT - 1),
    rows: null,
    columns: null,
    bytes: 5,
    created: expect.any(Date),
    version: expect.any(String),
    expires: null,
    tier: 'disk',
  });
  const last = refOf(handleOf(COUNT - 1));
  expect(await store.describe(last)).toMatchObject({ rows: 1, columns: [{ name: 'id', type: 'LONG' }] });
  // The others are still not described.
  const [page] = await store.list('default', { after: handleOf(COUNT - 2) });
  expect(page).toMatchObject({ handle: last.handle, rows: 1, version: listed.at(-1)?.version });
  expect(await unknown(store)).toBeGreaterThan(0);
});

test('SQL needs the frames that it names, and not the others', async () => {
  const store = await open();
  const engine = createSqlEngine({ store, tempDirectory: tmpdir() });
  try {
    expect(await unknown(store)).toBeGreaterThan(0);
    expect(await sqlRows(engine, `select * from ${handleOf(COUNT - 1)}`)).toEqual([[1n]]);
    expect(await sqlRows(engine, 'show tables')).toHaveLength(COUNT);
    expect(await unknown(store)).toBeGreaterThan(0);
  } finally {
    await engine.close();
  }
});

test('a store that closes does not describe the rest', async () => {
  const store = await open();
  expect(await unknown(store)).toBeGreaterThan(0);
  await store.close();
});

test('files are described in the end, and a removed one leaves the list', async () => {
  const store = await open();
  const page = { prefix: 'f000' };
  const described = await listDescribed(store, page);
  expect(described.map(({ rows }) => rows)).toEqual(Array.from({ length: 10 }, () => 1));
  await rm(join(fixture.folder, `${handleOf(1)}.csv`));
  expect(await store.list('default', page)).toHaveLength(9);
});
