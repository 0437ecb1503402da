import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { withTimeout } from '../src/client/client.ts';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

test('the timeout fires even after a garbage collection', async () => {
  const { signal } = new AbortController();
  const over = Array.from({ length: 20 }, () => {
    return new Promise((resolve) => withTimeout(signal, 50).addEventListener('abort', resolve, { once: true }));
  });
  const collecting = setInterval(collect, 5);
  try {
    await expect(Promise.all(over)).resolves.toHaveLength(20);
  } finally {
    clearInterval(collecting);
  }
});

test('it aborts with the other signal too', () => {
  const controller = new AbortController();
  const signal = withTimeout(controller.signal, 60_000);
  controller.abort(new Error('enough'));
  expect(signal.reason).toMatchObject({ message: 'enough' });
});
