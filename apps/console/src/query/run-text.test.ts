import { describe, expect, test } from 'vitest';
import { answerText, incompleteText, ordinal, outcomeText, progressText } from './run-text.ts';

const plain = (text: string | undefined): string | undefined => text?.replaceAll('\u202f', ' ');
const running = { id: '1', engine: 'local', state: 'running', elapsedMs: 0, rows: 0, bytes: 0 } as const;

describe('while a statement runs', () => {
  test.each([
    [
      'a place in line',
      { ...running, state: 'queued', queuePosition: 3, queueLength: 5, progress: null },
      '3rd of 5 in line · 2.1 s',
    ],
    [
      'a place without a length',
      { ...running, state: 'queued', queuePosition: 1, progress: null },
      '1st in line · 2.1 s',
    ],
    ['unknown progress has no percent', { ...running, progress: null }, '2.1 s'],
    [
      'progress with rows',
      { ...running, progress: 0.639, rowsProcessed: 62_971_904, rowsTotal: 100_000_002 },
      '63 % · 62 971 904 of 100 000 002 rows · 2.1 s',
    ],
    ['progress without rows', { ...running, progress: 0.5 }, '50 % · 2.1 s'],
    ['nothing is known', undefined, '2.1 s'],
  ] as const)('%s', (_name, query, expected) => {
    expect(plain(progressText(query, 2100))).toBe(expected);
  });

  test.each([
    [1, '1st'],
    [2, '2nd'],
    [3, '3rd'],
    [4, '4th'],
    [11, '11th'],
    [12, '12th'],
    [13, '13th'],
    [21, '21st'],
    [112, '112th'],
  ])('%d in line is the %s', (value, expected) => {
    expect(ordinal(value)).toBe(expected);
  });
});

describe('an answer says', () => {
  test('its rows, its time and its wait', () => {
    const timing = { queueMs: 250, executeMs: 120 };
    expect(plain(answerText({ rows: 1, end: 'complete', timing }))).toBe('1 row · 0.12 s after 0.25 s in line');
    expect(plain(answerText({ rows: 200_000, end: 'limited', timing: { queueMs: 0, executeMs: 120 } }))).toBe(
      '200 000+ rows · 0.12 s',
    );
    expect(plain(answerText({ rows: 7, end: undefined, timing: undefined }))).toBe('7 rows');
  });

  test.each([
    ['cut', 12_345, 'The server ended the answer after 12 345 rows. Run the statement again to see all.'],
    ['cancelled', 2, 'Cancelled after 2 rows.'],
    ['limited', 200_000, '200 000+ rows. Keep as frame to see all.'],
    ['limited', 10, '10+ rows. Only the first rows are shown. Keep as frame to see all.'],
    ['limited', 0, 'The first rows are larger than 67 MB. Keep as frame to see them.'],
    ['complete', 5, undefined],
    [undefined, 5, undefined],
  ] as const)('why it is incomplete if it is %s with %d rows', (end, rows, expected) => {
    expect(plain(incompleteText(end, rows))).toBe(expected);
  });

  test('how it ended', () => {
    const request = { sql: 'x', engine: 'tsdb', from: 0 } as const;
    const base = { request, elapsedMs: 500 };
    expect(outcomeText({ kind: 'failed', ...base, error: new Error('No.') }, undefined)).toBe('Failed: No.');
    expect(outcomeText({ kind: 'cancelled', ...base }, undefined)).toBe('Cancelled.');
    const acted = { kind: 'done', ...base, end: 'acted', timing: undefined } as const;
    expect(outcomeText(acted, undefined)).toBe('Done.');
    expect(outcomeText({ ...acted, changedRows: 3 }, undefined)).toBe('Done. 3 rows changed.');
    expect(plain(outcomeText({ ...acted, end: 'complete' }, 4))).toBe('4 rows in 0.50 s.');
  });
});
