import { describe, expect, onTestFinished, test } from 'vitest';
import type { FrameStream } from '../streams.ts';
import { type FrameRef, type OpenFrame, parseHandle, type Store } from '../store.ts';
import { longFrame, readRows } from './sample-frames.ts';

/** A frame a store has from its start. */
export type ContractFrame = FrameStream & { readonly ref: FrameRef };

const trades: FrameRef = { tenant: 'default', handle: parseHandle('trades') };

/** The reading part of the contract of all stores. `createStore` creates one with these frames. */
export function readingContract(name: string, createStore: (frames: readonly ContractFrame[]) => Promise<Store>): void {
  async function storeWith(...frames: readonly ContractFrame[]): Promise<Store> {
    const store = await createStore(frames);
    onTestFinished(() => store.close());
    return store;
  }

  async function opened(stream: FrameStream): Promise<OpenFrame> {
    const frame = await (await storeWith({ ref: trades, ...stream })).open(trades);
    if (frame === undefined) throw new Error('There is no frame trades.');
    onTestFinished(() => frame.close());
    return frame;
  }

  describe(`${name} keeps the reading part of the store contract`, () => {
    test('a frame is described as it is read', async () => {
      const store = await storeWith({ ref: trades, ...longFrame(3, { batchRows: 2 }) });
      const frame = await store.open(trades);
      expect(frame?.info).toMatchObject({ handle: 'trades', rows: 3, expires: null });
      expect(frame?.info.columns).toEqual([{ name: 'id', type: 'LONG', nullable: false }]);
      expect(await store.describe(trades)).toEqual(frame?.info);
      expect(await store.list('default')).toEqual([frame?.info]);
      expect(frame && (await readRows(frame.read()))).toEqual([[0n], [1n], [2n]]);
      expect(frame && (await readRows(frame.read()))).toEqual([[0n], [1n], [2n]]);
      frame?.close();
      frame?.close();
    });

    test('an empty frame keeps its columns', async () => {
      const frame = await opened(longFrame(0));
      expect(frame.info).toMatchObject({ rows: 0, columns: [{ name: 'id', type: 'LONG' }] });
      expect(await readRows(frame.read())).toEqual([]);
    });

    test('an unknown frame, or that of another tenant, is undefined, and dropping it is false', async () => {
      const store = await storeWith({ ref: { ...trades, tenant: 'other' }, ...longFrame(1) });
      expect(await store.open(trades)).toBeUndefined();
      expect(await store.describe(trades)).toBeUndefined();
      expect(await store.expire(trades, 5)).toBeUndefined();
      expect(await store.rename(trades, parseHandle('new'))).toBeUndefined();
      expect(await store.drop(trades)).toBe(false);
      expect(await store.list('default')).toEqual([]);
    });

    test.each([
      [{}, [0n, 1n, 2n, 3n, 4n]],
      [{ limit: 0 }, []],
      [{ limit: 2 }, [0n, 1n]],
      [{ offset: 1, limit: 2 }, [1n, 2n]],
      [{ offset: 1, limit: 3 }, [1n, 2n, 3n]],
      [{ offset: 4 }, [4n]],
      [{ offset: 5 }, []],
      [{ offset: 2 ** 53 - 1, limit: 2 ** 53 - 1 }, []],
    ])('read(%o) over batches of two', async (options, expected) => {
      const frame = await opened(longFrame(5, { batchRows: 2 }));
      expect((await readRows(frame.read(options))).flat()).toEqual(expected);
    });

    test('an unknown column is refused by name', async () => {
      const frame = await opened(longFrame(1));
      expect(() => frame.read({ columns: ['nope'] })).toThrow(
        expect.objectContaining({ code: 'invalid_argument', message: expect.stringContaining('"nope"') }),
      );
    });

    test('an aborted read rejects with the reason', async () => {
      const frame = await opened(longFrame(4, { batchRows: 1 }));
      const controller = new AbortController();
      const batches = frame.read({ signal: controller.signal }).batches[Symbol.asyncIterator]();
      await batches.next();
      controller.abort(new Error('gone'));
      await expect(batches.next()).rejects.toThrow('gone');
    });

    test('a list is sorted by handle, and paged', async () => {
      const frames = ['b', 'a.2', 'a.1', 'C', 'a-1'].map((handle) => ({
        ref: { ...trades, handle: parseHandle(handle) },
        ...longFrame(1),
      }));
      const store = await storeWith(...frames);
      const handles = async (options: object): Promise<string[]> =>
        (await store.list('default', options)).map((info) => info.handle);
      expect(await handles({})).toEqual(['C', 'a-1', 'a.1', 'a.2', 'b']);
      expect(await handles({ prefix: 'a.' })).toEqual(['a.1', 'a.2']);
      expect(await handles({ limit: 2 })).toEqual(['C', 'a-1']);
      expect(await handles({ limit: 2, after: 'a-1' })).toEqual(['a.1', 'a.2']);
      expect(await handles({ prefix: 'a', after: 'a.1' })).toEqual(['a.2']);
      expect((await store.handles?.('default'))?.toSorted()).toEqual(store.handles && ['C', 'a-1', 'a.1', 'a.2', 'b']);
    });
  });
}
