import { describe, expect, test } from 'vitest';
import { loadMutant, RARE_MUTANTS } from '../../testing/mutate-log.ts';
import { isLinearizable, worldOf } from '../../testing/simulate-log.ts';
import { createFrameLog } from './frame-log.ts';

describe('over a bad network, with processes that sleep', () => {
  test('the histories of 600 worlds are linearizable', { timeout: 300_000 }, async () => {
    const wrong: number[] = [];
    for (let seed = 0; seed < 600; seed++) {
      if (!(await isLinearizable(worldOf(seed, createFrameLog)))) wrong.push(seed);
    }
    expect(wrong).toEqual([]);
  });

  test.each(RARE_MUTANTS)('worlds show that it is wrong if $name', { timeout: 300_000 }, async (mutant) => {
    const createLog = await loadMutant(mutant);
    let seed = 0;
    while (seed < 2000 && (await isLinearizable(worldOf(seed, createLog)))) seed += 1;
    expect(seed).toBeLessThan(2000);
  });
});
