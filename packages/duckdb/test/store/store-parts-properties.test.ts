import { longFrame, readRows } from '@svc/frames/testing';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../../test/tier.ts';
import type { DurableStore } from '../../src/store/durable-store.ts';
import { createStoreFixture, refOf, rowsOf, type StoreFixture } from '../../src/testing/store-fixture.ts';

/** One step: appends are concurrent; a window is read from the middle. */
type Step =
  | { readonly kind: 'put'; readonly rows: number; readonly ttl: boolean }
  | { readonly kind: 'append'; readonly rows: readonly number[] }
  | { readonly kind: 'drop' | 'expire' | 'restart' | 'open' | 'close' };

const HANDLES = ['a', 'b'] as const;
const counts = fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 6 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('put' as const), rows: fc.nat(2000), ttl: fc.boolean() }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('append' as const), rows: counts }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constantFrom('drop', 'expire', 'restart', 'open', 'close') }) },
);
const steps = fc.array(fc.tuple(fc.constantFrom(...HANDLES), step), { minLength: 5, maxLength: 60 });

interface Model {
  ids: bigint[];
  expires: boolean;
}

/** Runs steps on a store and a model of it, and compares them after each step. */
async function compare(fixture: StoreFixture, all: readonly (readonly [string, Step])[]): Promise<void> {
  const frames = new Map<string, Model>();
  const opened: { readonly ids: readonly bigint[]; check: () => Promise<void> }[] = [];
  let next = 0;
  const reopen = (): Promise<DurableStore> => fixture.open({ mergeAbove: 3, cacheBytes: 20_000 });
  let store = await reopen();
  const idsOf = (start: number, rows: number): bigint[] => Array.from({ length: rows }, (_, i) => BigInt(start + i));
  const newRows = (rows: number): { start: number; ids: bigint[] } => {
    const start = next;
    next += rows;
    return { start, ids: idsOf(start, rows) };
  };

  async function append(handle: string, rows: readonly number[]): Promise<void> {
    const added = rows.map(newRows);
    const before = frames.get(handle) ?? { ids: [], expires: false };
    const results = await Promise.all(
      added.map(({ start, ids }) => store.append(refOf(handle), longFrame(ids.length, { start, batchRows: 100 }))),
    );
    const order = [...added.keys()].toSorted((a, b) => (versionAt(a) < versionAt(b) ? -1 : 1));
    function versionAt(i: number): string {
      return results[i]?.info.version ?? '';
    }
    const ids = order.flatMap((i) => added[i]?.ids ?? []);
    let total = before.ids.length;
    for (const i of order) expect(results[i]?.info.rows).toBe((total += added[i]?.ids.length ?? 0));
    frames.set(handle, { ids: [...before.ids, ...ids], expires: before.expires });
  }

  async function open(handle: string): Promise<void> {
    const frame = await store.open(refOf(handle));
    const ids = frames.get(handle)?.ids;
    expect(frame?.info.rows).toBe(ids?.length);
    if (frame === undefined || ids === undefined) return;
    opened.push({
      ids,
      async check() {
        const offset = ids.length >> 1;
        expect((await readRows(frame.read({ offset, limit: 50 }))).flat()).toEqual(ids.slice(offset, offset + 50));
        expect((await readRows(frame.read())).flat()).toEqual(ids);
        frame.close();
      },
    });
  }

  async function run(handle: string, { kind, ...rest }: Step): Promise<void> {
    const frame = frames.get(handle);
    if (kind === 'put' && 'ttl' in rest) {
      const { start, ids } = newRows(rest.rows);
      await store.put(refOf(handle), longFrame(ids.length, { start }), rest.ttl ? { ttlSeconds: 1000 } : {});
      frames.set(handle, { ids, expires: rest.ttl });
    } else if (kind === 'append' && 'rows' in rest && Array.isArray(rest.rows)) {
      await append(handle, rest.rows);
    } else if (kind === 'drop') {
      expect(await store.drop(refOf(handle))).toBe(frames.delete(handle));
    } else if (kind === 'expire') {
      await store.expire(refOf(handle), 500);
      if (frame) frame.expires = true;
    } else if (kind === 'open') {
      await open(handle);
    } else {
      for (const { check } of opened.splice(0)) await check();
    }
    if (kind === 'restart') {
      await store.close();
      store = await reopen();
    }
  }

  for (const [handle, one] of all) {
    await run(handle, one);
    const info = await store.describe(refOf(handle));
    const frame = frames.get(handle);
    expect([info?.rows, info && info.expires !== null]).toEqual([frame?.ids.length, frame?.expires]);
  }
  for (const { check } of opened) await check();
  for (const handle of HANDLES) expect((await rowsOf(store, refOf(handle)))?.flat()).toEqual(frames.get(handle)?.ids);
  await store.close();
  store = await reopen();
  for (const [handle, { ids }] of frames) expect((await rowsOf(store, refOf(handle)))?.flat()).toEqual(ids);
}

test('any sequence of changes, merges and restarts leaves exactly the rows of a model', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const fixture = await createStoreFixture();
      try {
        await compare(fixture, all);
      } finally {
        await fixture.remove();
      }
    }),
    { numRuns: runs(60) },
  );
}, 300_000);
