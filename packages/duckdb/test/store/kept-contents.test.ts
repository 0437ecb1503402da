import { tmpdir } from 'node:os';
import { streamFromTable } from '@svc/frames';
import { tableFromArrays } from 'apache-arrow';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { createFrameFiles } from '../../src/files/create-frame-files.ts';
import { createSqlEngine } from '../../src/sql/engine.ts';
import type { DurableStore } from '../../src/store/durable-store.ts';
import { rowsOf as sqlRows } from '../../src/testing/sql-fixture.ts';
import { createStoreFixture, refOf, rowsOf, type StoreFixture } from '../../src/testing/store-fixture.ts';

const files = createFrameFiles({ tempDirectory: tmpdir() });
let fixture: StoreFixture;
beforeEach(async () => {
  fixture = await createStoreFixture(files);
});
afterEach(() => fixture.remove());
afterAll(() => files.close());

const HANDLES = ['a', 'b', 'c', 'd', 'e'];
const one = () => streamFromTable(tableFromArrays({ x: Float64Array.of(1) }));

/** A store with room for the descriptions of two frames. */
async function fill(): Promise<DurableStore> {
  const store = await fixture.open({ maxDescriptionBytes: 4000 });
  for (const handle of HANDLES) await store.put(refOf(handle), one());
  return store;
}

const described = async (store: DurableStore): Promise<readonly string[]> =>
  (await store.list('default')).flatMap(({ handle, columns }) => (columns === null ? [] : [handle]));

test('the descriptions that were used last stay in memory, and a list does not read the others again', async () => {
  const store = await fill();
  expect(await described(store)).toEqual(['d', 'e']);
  expect(await store.describe(refOf('a'))).toMatchObject({ rows: 1, columns: [{ name: 'x', type: 'DOUBLE' }] });
  expect(await described(store)).toEqual(['a', 'e']);
  await rowsOf(store, refOf('e'));
  await store.describe(refOf('b'));
  expect(await described(store)).toEqual(['b', 'e']);
  expect((await store.list('default')).map(({ handle }) => handle)).toEqual(HANDLES);
});

test('frames whose description is not in memory are read, appended to, renamed, queried and dropped like others', async () => {
  const store = await fill();
  expect(await rowsOf(store, refOf('a'))).toEqual([[1]]);
  await store.append(refOf('b'), one());
  await store.append(refOf('b'), one());
  await store.put(refOf('f'), one());
  await store.put(refOf('g'), one());
  await store.append(refOf('b'), one());
  expect(await rowsOf(store, refOf('b'))).toEqual([[1], [1], [1], [1]]);
  await store.rename(refOf('c'), refOf('h').handle);
  expect(await rowsOf(store, refOf('h'))).toEqual([[1]]);
  const engine = createSqlEngine({ store, tempDirectory: tmpdir() });
  try {
    expect(await sqlRows(engine, 'select count(*) from a, b, d, e, f, g, h')).toEqual([[4n]]);
  } finally {
    await engine.close();
  }
  await store.drop(refOf('d'));
  const handles = async (from: DurableStore) => (await from.list('default')).map(({ handle }) => handle);
  expect(await handles(store)).toEqual(['a', 'b', 'e', 'f', 'g', 'h']);
  await store.close();
  expect(await rowsOf(await fixture.open(), refOf('b'))).toHaveLength(4);
});
