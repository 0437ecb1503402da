import { type RecordBatch, Table, tableFromArrays } from 'apache-arrow';
import { expect, test } from 'vitest';
import { createReadOnlyStore, type ReadOnlyFrame } from './read-only-store.ts';
import { parseHandle } from '../store.ts';
import { longFrame, readingContract, readRows } from '../testing/index.ts';

/** A store of the frames that the suite gives, as tables or as batches that come one by one. */
function contractFor(kind: string, frameOf: (table: Table) => Table | ReadOnlyFrame): void {
  readingContract(`a read-only store of ${kind}`, async (frames) => {
    const tables = new Map<string, Table | ReadOnlyFrame>();
    for (const { ref, schema, batches } of frames) {
      const all: RecordBatch[] = [];
      for await (const batch of batches) all.push(batch);
      tables.set(`${ref.tenant} ${ref.handle}`, frameOf(new Table(schema, all)));
    }
    return createReadOnlyStore({
      list: (tenant) =>
        [...tables.keys()].flatMap((key) => (key.startsWith(`${tenant} `) ? [key.slice(tenant.length + 1)] : [])),
      open: (tenant, handle) => tables.get(`${tenant} ${handle}`),
    });
  });
}

contractFor('tables', (table) => table);
contractFor('batches', (table) => ({
  schema: table.schema,
  rows: table.numRows,
  async *batches() {
    for (const batch of table.batches) yield Promise.resolve(batch);
  },
}));

const ref = { tenant: 'default', handle: parseHandle('trades') };
const table = tableFromArrays({ id: Int32Array.of(1, 2) });

test('every write of a read-only store is refused with a reason and a hint', async () => {
  const store = createReadOnlyStore({ list: () => ['trades'], open: () => table });
  const refusal = {
    code: 'permission_denied',
    message: 'The frame "trades" cannot be written: the frames here are read-only.',
    hint: 'Change the rows where they come from.',
  };
  const writes = [
    () => store.put(ref, longFrame(1)),
    () => store.append(ref, longFrame(1)),
    () => store.expire(ref, 5),
    () => store.rename(ref, parseHandle('other')),
    () => store.drop(ref),
  ];
  for (const write of writes) await expect(write()).rejects.toMatchObject(refusal);
  expect(await store.describe(ref)).toMatchObject({ rows: 2 });
});

test('a frame has a new version when the program returns another object, or says so', async () => {
  let current: Table | ReadOnlyFrame = table;
  const store = createReadOnlyStore({ list: () => ['trades'], open: async () => current });
  const version = async (): Promise<string> => (await store.describe(ref))?.version ?? '';
  const first = await version();
  expect(await version()).toBe(first);
  current = new Table(table.batches);
  expect((await version()) > first).toBe(true);
  current = { schema: table.schema, rows: 2, batches: () => table.batches, version: '7' };
  expect(await version()).toBe('7');
});

test('a frame is closed once, and a read that stops early ends the generator of its rows', async () => {
  const seen: string[] = [];
  function* batches(): Generator<RecordBatch> {
    try {
      for (;;) yield* table.batches;
    } finally {
      seen.push('ended');
    }
  }
  const frame = { schema: table.schema, rows: 2, batches, close: () => seen.push('closed') };
  const store = createReadOnlyStore({ list: () => [], open: () => frame });
  const open = await store.open(ref);
  expect(open && (await readRows(open.read({ limit: 3 })))).toEqual([[1], [2], [1]]);
  open?.close();
  open?.close();
  expect(seen).toEqual(['ended', 'closed']);
});

test('a handle that is none is a mistake of the program', async () => {
  const store = createReadOnlyStore({ list: () => ['a b'], open: () => undefined });
  await expect(store.list('default')).rejects.toThrow('list returned "a b", which is not a handle.');
});
