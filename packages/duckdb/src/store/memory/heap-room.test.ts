import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

// The built module: a process of its own has a small heap, and flags that no other test changes.
const HEAP_ROOM = new URL('../../../dist/store/memory/heap-room.js', import.meta.url).href;

/** V8 rejects a code cache while a flag differs from when the cache was written. */
const PROGRAM = `
  import { Script } from 'node:vm';
  import { withHeapRoom } from '${HEAP_ROOM}';
  const cachedData = new Script('function once() {}').createCachedData();
  let scripts = 0;
  const hasRoom = () => new Script('function once() {}', { filename: 'script-' + scripts++, cachedData }).cachedDataRejected;
  const states = { before: hasRoom() };
  let end;
  const long = withHeapRoom(() => new Promise((resolve) => (end = resolve)));
  states.during = hasRoom();
  states.result = await withHeapRoom(async () => 'rows');
  states.afterAnother = hasRoom();
  states.error = await withHeapRoom(async () => { throw 'damaged'; }).catch((error) => error);
  states.afterFailure = hasRoom();
  end();
  await long;
  states.after = hasRoom();
  console.log(JSON.stringify(states));`;

test('the heap has room until the last of several tasks ends, also if some fail', async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', PROGRAM]);
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toStrictEqual({
    before: false,
    during: true,
    result: 'rows',
    afterAnother: true,
    error: 'damaged',
    afterFailure: true,
    after: false,
  });
});
