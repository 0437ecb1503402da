import { describe, expect, test } from 'vitest';
import { completeAt, type Proposal } from './complete.ts';
import { BASIC_VOCABULARY } from './vocabulary.ts';

const WORDS = {
  ...BASIC_VOCABULARY,
  functions: [
    { name: 'time_bucket', signature: '(width, ts)', description: 'Buckets.', isTable: false },
    { name: 'range', signature: '(n)', description: '', isTable: true },
  ],
  tables: [
    {
      name: 'ticks',
      columns: [
        { name: 'id', type: 'LONG' },
        { name: 'price', type: 'DOUBLE' },
        { name: 'Day Of', type: 'DATE' },
      ],
    },
    {
      name: 'bars',
      columns: [
        { name: 'id', type: 'INT' },
        { name: 'close', type: 'DOUBLE' },
      ],
    },
    { name: 'my-frame.v2', columns: [{ name: 'x', type: 'INT' }] },
  ],
};

/** The place is where the text has a bar. */
function at(text: string): { from: number; proposals: readonly Proposal[] } | undefined {
  return completeAt(text.replace('|', ''), text.indexOf('|'), WORDS);
}
const labels = (text: string, kind: Proposal['kind']): string[] =>
  (at(text)?.proposals ?? []).filter((proposal) => proposal.kind === kind).map(({ label }) => label);

describe('columns', () => {
  test.each([
    ['of the frame after the cursor', 'select | from ticks', ['id', 'price', 'Day Of']],
    ['of two frames, each once', 'select | from ticks join bars using (id)', ['id', 'price', 'Day Of', 'close']],
    ['of all frames if none is named', 'select |', ['id', 'price', 'Day Of', 'close', 'x']],
    ['of the statement at the cursor alone', 'select * from bars; select | from ticks', ['id', 'price', 'Day Of']],
    ['of an alias', 'select b.| from ticks t, bars b', ['id', 'close']],
    ['of an alias with as', 'select t.| from ticks as t', ['id', 'price', 'Day Of']],
    ['of a frame by its name', 'select ticks.| from ticks', ['id', 'price', 'Day Of']],
    ['of a frame in quotes', 'select "my-frame.v2".| from "my-frame.v2"', ['x']],
    ['of a frame whose name has other letter case', 'select | from TICKS', ['id', 'price', 'Day Of']],
    ['of no unknown alias', 'select z.| from ticks', []],
    ['of a frame whose next word is no alias', 'select where.| from ticks where true', []],
  ])('are those %s', (_name, text, expected) => {
    expect(labels(text, 'column')).toEqual(expected);
  });

  test('have their type, and quotes if the name needs them', () => {
    const proposals = at('select | from ticks')?.proposals ?? [];
    expect(proposals.slice(0, 3).map(({ text, detail }) => [text, detail])).toEqual([
      ['id', 'LONG'],
      ['price', 'DOUBLE'],
      ['"Day Of"', 'DATE'],
    ]);
  });
});

describe('the completion', () => {
  test('proposes frames first after from', () => {
    const [first] = (at('select 1 from |')?.proposals ?? []).toSorted((a, b) => b.rank - a.rank);
    expect(first).toMatchObject({ kind: 'table', label: 'ticks' });
    expect(labels('select 1 from |', 'column')).toEqual([]);
  });

  test('puts a handle with a dash into quotes', () => {
    expect(at('from my|')?.proposals.find(({ label }) => label === 'my-frame.v2')?.text).toBe('"my-frame.v2"');
  });

  test('replaces the word at the cursor', () => {
    expect(at('select pri| from ticks')?.from).toBe(7);
    expect(at('select | from ticks')?.from).toBe(7);
    expect(at('select t.pr| from ticks t')?.from).toBe(9);
  });

  test('of an open quote has only names, in quotes', () => {
    const found = at('select 1 from "my|');
    expect(found?.from).toBe(14);
    expect(found?.proposals.map(({ text }) => text)).toContain('"my-frame.v2"');
    expect(found?.proposals.every(({ kind }) => kind === 'column' || kind === 'table')).toBe(true);
  });

  test('has functions with their parameters, and keywords', () => {
    expect(at('select ti|')?.proposals).toContainEqual({
      label: 'time_bucket',
      text: 'time_bucket(',
      kind: 'function',
      detail: '(width, ts)',
      info: 'Buckets.',
      rank: 0,
    });
    expect(labels('sel|', 'keyword')).toContain('select');
  });

  test('has nothing in a text of megabytes, which would be read again at each key', () => {
    expect(at(`select ${'(1, 2), '.repeat(200_000)} pri|`)).toBeUndefined();
  });

  test.each(["select 'pri|", "select 'pri|ce'", 'select 1 -- pri|', 'select /* pri|', 'select 12|', 'select $$a|'])(
    'has nothing in %s',
    (text) => {
      expect(at(text)).toBeUndefined();
    },
  );
});
