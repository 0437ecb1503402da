import { expect, test } from 'vitest';
import type { Client } from '../src/client/client.ts';
import { listFrames } from '../src/client/requests.ts';
import { CliError } from '../src/errors.ts';

const COMMON = { bytes: 1, created: '2026-01-01T00:00:00.000Z', version: 'v', expires: null, tier: 'disk' };
const known = (handle: string) => ({ handle, rows: 1, columns: [], ...COMMON });
const unknown = (handle: string) => ({ handle, rows: null, columns: null, ...COMMON });

/** A store that never has the description of `b` in memory, and cannot read `c` and `d`. */
function createStore(isReported: () => boolean) {
  const requests: string[] = [];
  const client: Client = {
    async send({ path }) {
      requests.push(path);
      if (requests.length > 100) throw new Error('The list does not end.');
      if (path === 'frames/c' || path === 'frames/d') {
        throw new CliError('refused', 'It cannot be read.', { hint: undefined, code: 'unreadable_frame' });
      }
      const isLeftOut = requests.length > 4 && isReported();
      const frames = [known('a'), unknown('b'), ...(isLeftOut ? [] : [unknown('c')]), unknown('d')];
      const body = path === 'frames' ? { frames: isLeftOut ? frames.slice(0, 2) : frames } : known('b');
      return { status: 200, headers: new Headers(), body: bytesOf(JSON.stringify(body)) };
    },
  };
  return { client, requests };
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function pagesOf<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const page of pages) all.push(page);
  return all;
}

test.each([
  ['are left out when they are reported', true, [known('a'), known('b')]],
  ['stay unknown if they are never reported', false, [known('a'), known('b'), unknown('c'), unknown('d')]],
])(
  'a complete list describes each frame that a page does not describe, once; unreadable ones %s',
  async (_, isReported, frames) => {
    const { client, requests } = createStore(() => isReported);
    expect(await pagesOf(listFrames(client, undefined, undefined, true))).toEqual([frames]);
    expect(requests.filter((path) => path !== 'frames')).toEqual(['frames/b', 'frames/c', 'frames/d']);
  },
);

test('a list of a server does not wait for descriptions', async () => {
  const { client, requests } = createStore(() => false);
  const [page] = await pagesOf(listFrames(client, undefined));
  expect(page?.map(({ rows }) => rows)).toEqual([1, null, null, null]);
  expect(requests).toEqual(['frames']);
});
