import { expect, test } from 'vitest';
import { createAnswerRows } from './answer-rows.ts';

test('an answer has only the rows that belong to it', () => {
  const rows = createAnswerRows([{ name: 'a', type: 'LONG' }]);
  rows.append({ kind: 'json', rows: [['1'], ['2']], rowCount: 2 });
  rows.append({ kind: 'json', rows: [['3'], ['4']], rowCount: 1 });
  rows.append({ kind: 'json', rows: [['5']], rowCount: 0 });
  expect(rows.rowCount.value).toBe(3);
  expect([0, 1, 2, 3].map((row) => rows.cell(row, 0)?.text)).toEqual(['1', '2', '3', undefined]);
});
