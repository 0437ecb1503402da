import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { collectGarbage } from './collect-garbage.ts';

test('unreachable objects are collected each time', async () => {
  for (let time = 1; time <= 2; time += 1) {
    const reference = new WeakRef({ time });
    // The target of a new weak reference lives until the end of the current task.
    await nextTurn();
    collectGarbage();
    expect(reference.deref()).toBeUndefined();
  }
});
