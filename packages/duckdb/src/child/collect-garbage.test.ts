import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { collectGarbage } from './collect-garbage.ts';

test('what no object holds any more is gone, each time', async () => {
  for (let time = 1; time <= 2; time += 1) {
    const reference = new WeakRef({ time });
    // What a weak reference was made of lives until the end of the turn.
    await nextTurn();
    collectGarbage();
    expect(reference.deref()).toBeUndefined();
  }
});
