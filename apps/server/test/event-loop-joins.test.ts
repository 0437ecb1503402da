// What a statement over several wide frames does.
import { beforeAll, describe, expect, test } from 'vitest';
import { byTier, SLOW } from '../../../test/tier.ts';
import { CAN_MEASURE, MAX_BLOCK_MS, type MeasuredServer, startMeasured } from './measured-server.ts';

const COLUMNS = 3000;
/** With these, the catalogue shows about as many columns as it can. */
const FRAMES = 64;

const rowOf = (names: readonly string[]): Record<string, number> =>
  Object.fromEntries(names.map((name) => [name, 0.5]));
const names = (count: number, name: (i: number) => string): string[] =>
  Array.from({ length: count }, (_, i) => name(i));
const wide = (count: number): Record<string, number> => rowOf(names(count, (i) => `column_${i}`));
/** Columns whose names differ only by case. */
const twins = (count: number): Record<string, number> => rowOf(names(count, (i) => `${i % 2 ? 'C' : 'c'}${i >> 1}`));

const joined = (count: number): string => `select t0.column_0 from ${names(count, (i) => `t${i}`).join(', ')}`;

const FEW: readonly (readonly [string, string, number])[] = [
  ['a join with names that differ only by case', 'select column_0 from twins, t0', 200],
  ['a join with a column that is not there', 'select column_x from twins, t0, t1', 400],
  ['a join of three frames', joined(3), 200],
];

const MANY: readonly (readonly [string, string, number])[] = [
  ['a join of ten frames', joined(10), 200],
  ['a join of all frames', joined(FRAMES), 200],
  ['the columns of all frames', 'select count(*) from information_schema.columns', 200],
];

describe.runIf(CAN_MEASURE)(
  `with frames of ${COLUMNS} columns, the event loop is kept for at most ${MAX_BLOCK_MS} ms in one piece by`,
  () => {
    let server: MeasuredServer;

    async function run(sql: string): Promise<number> {
      const response = await server.fetch(`/exec?engine=local&fmt=json&query=${encodeURIComponent(sql)}`);
      await response.arrayBuffer();
      return response.status;
    }

    async function putFrames(from: number, to: number): Promise<void> {
      for (let i = from; i < to; i += 1) await server.put(`t${i}`, [wide(COLUMNS)]);
    }

    async function expectShort(sql: string, status: number): Promise<void> {
      const ms = await server.longestBlock(async () => expect(await run(sql)).toBe(status));
      expect(ms).toBeLessThanOrEqual(MAX_BLOCK_MS);
    }

    beforeAll(async () => {
      let end: (() => Promise<void>) | undefined;
      server = await startMeasured({ onEnd: (ending) => void (end = ending) });
      // The first requests load modules and compile functions.
      for (const columns of [100, 1000]) {
        for (const handle of ['t0', 't1', 't2']) await server.put(handle, [wide(columns)]);
        await server.put('twins', [twins(columns)]);
        for (const [, sql] of FEW) await run(sql);
        await run('select count(*) from information_schema.columns');
      }
      await server.put('twins', [twins(COLUMNS)]);
      await putFrames(0, 3);
      return () => end?.();
    });

    for (const [options, rows] of byTier(FEW)) {
      test.each(rows)('%s', options, async (_, sql, status) => {
        await expectShort(sql, status);
      });
    }

    describe(`with ${FRAMES} of them`, () => {
      beforeAll(() => putFrames(3, FRAMES));

      test.each(MANY)('%s', SLOW, async (_, sql, status) => {
        await expectShort(sql, status);
      });
    });
  },
);
