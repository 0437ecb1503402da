import { setImmediate as nextTurn } from 'node:timers/promises';
import { longFrame, readRows } from '@svc/frames/testing';
import { expect } from 'vitest';
import { refOf, type StoreFixture } from '../src/testing/store-fixture.ts';

/** Fails where a read, while frames are put and dropped, is not of one whole version. */
export async function readAmongChanges(fixture: StoreFixture, cacheBytes: number): Promise<void> {
  const store = await fixture.open({ cacheBytes });
  const refs = ['a', 'b', 'c'].map((handle) => refOf(handle));
  /** The first value of each version, recorded when its put returned. */
  const starts = new Map<string, number>();
  let next = 0;
  let reads = 0;
  const written = new AbortController();

  async function write(): Promise<void> {
    for (let i = 0; i < 25; i++) {
      const ref = refs[i % refs.length];
      const start = (next += 10_000);
      const count = 1 + (i % 7) * 100;
      if (i % 11 === 10) {
        await store.drop(ref);
      } else {
        const { info } = await store.put(ref, longFrame(count, { start, batchRows: 64 }));
        expect(info.rows).toBe(count);
        starts.set(info.version, start);
      }
    }
  }

  async function read(): Promise<void> {
    for (let i = 0; !written.signal.aborted; i++) {
      // A read from memory alone would never yield to the other tasks.
      await nextTurn();
      const frame = await store.open(refs[i % refs.length]);
      if (frame === undefined) continue;
      const { rows, version } = frame.info;
      const ids = (await readRows(frame.read(i % 3 === 0 ? { limit: 5 } : {}))).flat() as bigint[];
      frame.close();
      const first = Number(ids[0]);
      expect(ids).toEqual(
        Array.from({ length: i % 3 === 0 ? Math.min(5, rows) : rows }, (_, at) => BigInt(first + at)),
      );
      // A version can be read before its put has returned.
      expect(starts.get(version) ?? first).toBe(first);
      reads += 1;
    }
  }

  const readers = [read(), read(), read()];
  await Promise.all([write(), write()]).finally(() => written.abort());
  await Promise.all(readers);
  expect(reads).toBeGreaterThan(20);
  const { frames } = await store.usage();
  await store.close();
  expect((await fixture.names()).filter((name) => name.endsWith('.parquet'))).toHaveLength(frames);
  expect(await fixture.names()).toHaveLength(frames);
}
