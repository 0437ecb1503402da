// What a statement over several wide frames does.
import { beforeAll, describe, expect, test } from 'vitest';
import { CAN_MEASURE, MAX_BLOCK_MS, type MeasuredServer, startMeasured } from './measured-server.ts';

const COLUMNS = 3000;

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

// A garbage collection or a compilation can fall into one try; a block of the request itself is in all of them.
describe.runIf(CAN_MEASURE)(
  `with frames of ${COLUMNS} columns, the event loop is kept for at most ${MAX_BLOCK_MS} ms in one piece by`,
  { retry: 3 },
  () => {
    let server: MeasuredServer;

    async function run(sql: string): Promise<number> {
      const response = await server.fetch(`/exec?engine=local&fmt=json&query=${encodeURIComponent(sql)}`);
      await response.arrayBuffer();
      return response.status;
    }

    beforeAll(async () => {
      let end: (() => Promise<void>) | undefined;
      server = await startMeasured({ onEnd: (ending) => void (end = ending) });
      // The first requests load modules and compile functions.
      for (const columns of [100, 1000]) {
        for (const handle of ['t0', 't1', 't2']) await server.put(handle, [wide(columns)]);
        await server.put('twins', [twins(columns)]);
        for (const [, sql] of FEW) await run(sql);
      }
      await server.put('twins', [twins(COLUMNS)]);
      for (const handle of ['t0', 't1', 't2']) await server.put(handle, [wide(COLUMNS)]);
      return () => end?.();
    });

    test.each(FEW)('%s', async (_, sql, status) => {
      await server.longestBlock();
      expect(await run(sql)).toBe(status);
      expect(await server.longestBlock()).toBeLessThanOrEqual(MAX_BLOCK_MS);
    });
  },
);
