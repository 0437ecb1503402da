import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type FrameRef, parseHandle, type Quota, type Store } from '../store.ts';
import { longFrame } from './sample-frames.ts';

const refOf = (handle: string, tenant = 'alpha'): FrameRef => ({ tenant, handle: parseHandle(handle) });

/** What a store promises about quotas. `createStore` creates an empty one. */
export function quotaContract(name: string, createStore: () => Promise<Store>): void {
  describe(`${name} keeps quotas`, () => {
    let store: Store;
    beforeEach(async () => {
      store = await createStore();
    });
    afterEach(() => store.close());

    const put = (handle: string, quota: Quota, rows = 1000, tenant = 'alpha') =>
      store.put(refOf(handle, tenant), longFrame(rows), { quota });
    const append = (handle: string, quota: Quota, rows = 1000) =>
      store.append(refOf(handle), longFrame(rows), { quota });

    async function used(tenant = 'alpha'): Promise<{ readonly handles: string[]; readonly bytes: number }> {
      const frames = await store.list(tenant);
      return {
        handles: frames.map(({ handle }) => handle),
        bytes: frames.reduce((sum, { bytes }) => sum + bytes, 0),
      };
    }

    /** How many writes succeed; the others must fail with `quota_exceeded`. */
    async function succeeding(writes: readonly Promise<unknown>[]): Promise<number> {
      const outcomes = await Promise.allSettled(writes);
      const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
      for (const failure of failures) expect(failure).toMatchObject({ code: 'quota_exceeded' });
      return outcomes.length - failures.length;
    }

    test('max_frames: a new frame is refused, and a replacement, an append and another tenant are not', async () => {
      const quota = { maxFrames: 2 };
      await put('a', quota);
      await append('b', quota);
      await expect(put('c', quota)).rejects.toMatchObject({
        code: 'quota_exceeded',
        message: 'The tenant "alpha" may have 2 frames (max_frames), and has 2.',
      });
      await expect(append('c', quota)).rejects.toMatchObject({ code: 'quota_exceeded' });
      await put('a', quota);
      await append('a', quota);
      await put('c', quota, 1, 'beta');
      expect((await used()).handles).toEqual(['a', 'b']);
    });

    test('max_frames: a dropped or expired frame makes room', async () => {
      const quota = { maxFrames: 1 };
      await put('a', quota);
      await store.drop(refOf('a'));
      await put('b', quota);
      await store.expire(refOf('b'), 0);
      await put('c', quota);
      await expect(put('d', quota)).rejects.toMatchObject({ code: 'quota_exceeded' });
      expect((await used()).handles).toEqual(['c']);
    });

    test('max_frames of 0 allows none, even if the source would fail', async () => {
      const { schema } = longFrame(1);
      const batches = (async function* () {
        yield* [];
        throw new Error('was read');
      })();
      await expect(store.put(refOf('a'), { schema, batches }, { quota: { maxFrames: 0 } })).rejects.toMatchObject({
        code: 'quota_exceeded',
      });
      expect((await used()).handles).toEqual([]);
    });

    test('max_frames holds under concurrent puts and appends', async () => {
      const quota = { maxFrames: 3 };
      const handles = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
      const writes = handles.map((handle, i) => (i % 2 === 0 ? put(handle, quota, 10) : append(handle, quota, 10)));
      expect(await succeeding(writes)).toBe(3);
      expect((await used()).handles).toHaveLength(3);
      // Two writes of one handle are one frame.
      await store.drop(refOf((await used()).handles[0] ?? ''));
      expect(await succeeding([put('same', quota, 1), append('same', quota, 1), put('SAME-not', quota, 1)])).toBe(2);
      expect((await used()).handles).toContain('same');
    });

    test('max_bytes: the last byte fits, and one more does not', async () => {
      const { bytes } = (await put('a', {})).info;
      await expect(put('b', { maxBytes: 2 * bytes - 1 })).rejects.toMatchObject({
        code: 'quota_exceeded',
        message: expect.stringMatching(
          `The tenant "alpha" may store ${2 * bytes - 1} bytes \\(max_bytes\\), and would store at least \\d+\\.`,
        ),
      });
      expect(await used()).toEqual({ handles: ['a'], bytes });
      await put('b', { maxBytes: 2 * bytes });
      await put('b', { maxBytes: 2 * bytes });
      expect(await used()).toEqual({ handles: ['a', 'b'], bytes: 2 * bytes });
      await expect(put('c', { maxBytes: 2 * bytes })).rejects.toMatchObject({
        message: `The tenant "alpha" may store ${2 * bytes} bytes (max_bytes), and stores ${2 * bytes}.`,
      });
      await expect(append('b', { maxBytes: 2 * bytes })).rejects.toMatchObject({ code: 'quota_exceeded' });
      await put('a', { maxBytes: 2 * bytes }, 1000, 'beta');
      await store.drop(refOf('b'));
      await put('c', { maxBytes: 2 * bytes });
    });

    test('max_bytes: a replacement counts without what it replaces, and a smaller one is always allowed', async () => {
      const { bytes } = (await put('a', {})).info;
      const smaller = (await put('small', {}, 10)).info.bytes;
      await expect(put('a', { maxBytes: bytes + smaller }, 2000)).rejects.toMatchObject({ code: 'quota_exceeded' });
      await put('a', { maxBytes: bytes + smaller }, 1000);
      await put('a', { maxBytes: 1 }, 10);
      expect((await used()).bytes).toBe(2 * smaller);
    });

    test('max_bytes holds under concurrent puts', async () => {
      const { bytes } = (await put('first', {})).info;
      const quota = { maxBytes: 4 * bytes };
      const writes = Array.from({ length: 10 }, (_, i) => put(`f${i}`, quota));
      const stored = await succeeding(writes);
      expect(stored).toBeGreaterThan(0);
      expect(stored).toBeLessThanOrEqual(3);
      expect((await used()).bytes).toBe((1 + stored) * bytes);
    });

    test('max_bytes holds under concurrent appends to some frames, with puts among them', async () => {
      const { bytes } = (await put('a', {})).info;
      const quota = { maxBytes: 6 * bytes };
      const writes = Array.from({ length: 24 }, (_, i) => {
        const handle = ['a', 'b', 'c'][i % 3] ?? '';
        return i % 8 === 7 ? put(handle, quota) : append(handle, quota);
      });
      expect(await succeeding(writes)).toBeGreaterThan(1);
      expect((await used()).bytes).toBeLessThanOrEqual(quota.maxBytes);
    });

    test('a failed write gives back what it reserved', async () => {
      const { bytes } = (await put('a', {})).info;
      const quota = { maxBytes: 2 * bytes, maxFrames: 2 };
      const { schema, batches } = longFrame(1000);
      const failing = (async function* () {
        yield* batches;
        throw new Error('cut');
      })();
      await expect(store.put(refOf('b'), { schema, batches: failing }, { quota })).rejects.toThrow('cut');
      await put('c', quota);
      expect(await used()).toEqual({ handles: ['a', 'c'], bytes: 2 * bytes });
    });
  });
}
