import { status as Status } from '@grpc/grpc-js';
import { tableFromArrays, tableToIPC } from 'apache-arrow';
import { expect, test } from 'vitest';
import { failureOf, startServer, upload } from '../../test/start-server.ts';

const bytes = tableToIPC(tableFromArrays({ id: Int32Array.of(1, 2) }), 'stream');

test.each([
  ['at once', 0],
  ['after its target', 1],
  ['in the middle of its data', 3],
])('an upload that stalls %s is DEADLINE_EXCEEDED and leaves nothing behind', async (_name, count) => {
  const { client } = await startServer({ idleTimeoutMs: 200 });
  async function* silent() {
    let sent = 0;
    for await (const message of upload({ handle: 'h' }, bytes, 100)) {
      if (sent++ === count) await new Promise(() => {});
      yield message;
    }
  }
  expect(await failureOf((options) => client.putFrame(silent(), options))).toMatchObject({
    code: Status.DEADLINE_EXCEEDED,
    errorCode: 'deadline_exceeded',
    details: 'The client sent no data of its upload for 200 ms.',
  });
  expect((await client.listFrames({})).frames).toEqual([]);
});

test('an upload may take longer in total if each message arrives in time', { tags: ['slow'] }, async () => {
  const { client } = await startServer({ idleTimeoutMs: 1000 });
  async function* slowly() {
    for await (const message of upload({ handle: 'h' }, bytes, Math.ceil(bytes.length / 3))) {
      yield message;
      await new Promise((resolve) => setTimeout(resolve, 400));
    }
  }
  expect((await client.putFrame(slowly())).frame?.rows).toBe(2n);
});
