import { withResolvers } from '@svc/frames/async';
import { expect, test } from 'vitest';
import { createDescribeQueue, type DescribeQueue } from './describe-queue.ts';
import type { FrameContents, StoredFrame } from './catalogue/stored-frame.ts';
import { refOf } from '../testing/store-fixture.ts';

/** A queue whose descriptions end on demand. */
function setup() {
  const begun: string[] = [];
  const ends = new Map<string, (contents: FrameContents) => void>();
  const queue: DescribeQueue = createDescribeQueue({
    catalogue: { acquire: async () => true, release() {}, isCurrent: () => false },
    foreign: { find: async () => undefined },
    reader: {
      describe: ({ handle }: StoredFrame) => {
        begun.push(handle);
        const { promise, resolve } = withResolvers<FrameContents>();
        ends.set(handle, resolve);
        return promise;
      },
    },
    onProblem: () => {},
  });
  const frame = (handle: string, tenant = 'default', isForeign = true): StoredFrame =>
    ({ ...refOf(handle, tenant), isForeign }) as StoredFrame;
  return { queue, begun, frame, end: (handle: string) => ends.get(handle)?.({} as FrameContents) };
}

test('foreign files are described one at a time, and the tenants take turns', async () => {
  const { queue, begun, frame, end } = setup();
  for (const handle of ['a', 'b', 'c']) void queue.add(frame(handle));
  void queue.add(frame('x', 'other'));
  expect(queue.isIdle('other')).toBe(false);
  for (const [at, handle] of ['a', 'x', 'b', 'c'].entries()) {
    await expect.poll(() => begun.length).toBe(at + 1);
    expect(begun.at(-1)).toBe(handle);
    end(handle);
  }
});

test('frames of ours are described together', async () => {
  const { queue, begun, frame } = setup();
  for (const handle of ['a', 'b', 'c']) void queue.add(frame(handle, 'default', false));
  await expect.poll(() => begun).toEqual(['a', 'b', 'c']);
});

test.each([0, 1, 2, 3, 4, 5])('a frame that is added %i steps after the last one is described', async (steps) => {
  const { queue, begun, frame, end } = setup();
  const first = queue.add(frame('a'));
  await expect.poll(() => begun).toEqual(['a']);
  end('a');
  await first;
  for (let i = 0; i < steps; i += 1) await Promise.resolve();
  void queue.add(frame('b'));
  await expect.poll(() => begun).toEqual(['a', 'b']);
});

test('nothing is begun while a request reads a file', async () => {
  const { queue, begun, frame, end } = setup();
  const { promise, resolve } = withResolvers<number>();
  const request = queue.first(() => promise);
  void queue.add(frame('a'));
  await new Promise((done) => setImmediate(() => setImmediate(done)));
  expect(begun).toEqual([]);
  resolve(1);
  expect(await request).toBe(1);
  await expect.poll(() => begun).toEqual(['a']);
  end('a');
});

test('a frame that waits twice is described once', async () => {
  const { queue, begun, frame, end } = setup();
  const one = frame('a');
  const both = [queue.add(one), queue.add(one)];
  await expect.poll(() => begun).toEqual(['a']);
  end('a');
  expect(await Promise.all(both)).toEqual([{}, {}]);
  expect(begun).toEqual(['a']);
});
