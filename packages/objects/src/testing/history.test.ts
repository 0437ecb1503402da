import { describe, expect, test } from 'vitest';
import { checkHistory, type HistoryModel, type Operation } from './history.ts';

/** A register: `write` returns nothing, `read` the last value. */
type Input = { readonly write: number } | 'read';

const REGISTER: HistoryModel<number, Input, number> = {
  initial: 0,
  step: (value, input, output) => {
    if (input === 'read') return output === undefined || output === value ? value : undefined;
    return input.write;
  },
  keyOf: String,
};

const write = (value: number, start: number, end: number): Operation<Input, number> => ({
  input: { write: value },
  output: value,
  start,
  end,
});
/** A write that got no answer. */
const lost = (value: number, start: number): Operation<Input, number> => ({
  input: { write: value },
  start,
  end: start + 1,
});
const read = (output: number, start: number, end: number): Operation<Input, number> => ({
  input: 'read',
  output,
  start,
  end,
});

describe('a history is linearizable', () => {
  test.each([
    ['if nothing happened', []],
    ['if operations follow each other', [write(1, 0, 1), read(1, 2, 3), write(2, 4, 5), read(2, 6, 7)]],
    ['if concurrent reads see the old and the new value', [write(1, 0, 10), read(0, 1, 2), read(1, 3, 4)]],
    ['if concurrent writes take effect in any order', [write(1, 0, 10), write(2, 0, 10), read(1, 11, 12)]],
    ['if a lost write took effect much later', [lost(1, 0), read(0, 5, 6), read(1, 7, 8)]],
    ['if a lost write never took effect', [lost(1, 0), read(0, 5, 6), read(0, 7, 8)]],
    ['if its operations are in any order', [read(1, 2, 3), write(1, 0, 1)]],
  ])('%s', (_name, history) => {
    expect(checkHistory(REGISTER, history)).toBe(true);
  });
});

describe('a history is not linearizable', () => {
  test.each([
    ['if a read misses a finished write', [write(1, 0, 1), read(0, 2, 3)]],
    ['if a later read sees an older value', [write(1, 0, 10), read(1, 1, 2), read(0, 3, 4)]],
    ['if a value was never written', [write(1, 0, 1), read(2, 2, 3)]],
    ['if a lost write takes effect twice', [lost(1, 0), read(1, 2, 3), write(2, 4, 5), read(2, 6, 7), read(1, 8, 9)]],
    ['if a read sees a write that begins later', [read(1, 0, 1), write(1, 2, 3)]],
  ])('%s', (_name, history) => {
    expect(checkHistory(REGISTER, history)).toBe(false);
  });
});

test('a long history with lost operations is checked in the blink of an eye', () => {
  const history: Operation<Input, number>[] = [];
  for (let i = 1; i <= 300; i++) {
    history.push(write(i, i * 10, i * 10 + 15), read(i, i * 10 + 16, i * 10 + 17));
    if (i % 30 === 0) history.push(lost(-i, i * 10));
  }
  expect(checkHistory(REGISTER, history)).toBe(true);
});
