import { signal } from '@preact/signals';
import { createExecApp } from '@svc/exec-http';
import { createMemoryStore } from '@svc/frames';
import { createService, type Service } from '@svc/service';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SLOW } from '../../../../test/tier.ts';
import { createApi, type FrameInfo } from '../api/api.ts';
import { createAnswerRows } from '../rows/answer-rows.ts';
import { createFrameRows } from '../rows/frame-rows.ts';
import type { CellRange, RowSource } from '../rows/row-source.ts';
import { hexText, indentedJson, parseGoTo, rangeAsTsv } from './overlays.tsx';

/** An answer in memory whose cells have these JSON texts. */
function answerOf(names: readonly string[], rows: readonly (readonly string[])[]): RowSource {
  const answer = createAnswerRows(names.map((name) => ({ name, type: 'STRING' })));
  answer.append({ kind: 'json', rows, rowCount: rows.length });
  return answer;
}

const rangeOf = (firstRow: number, lastRow: number, firstColumn: number, lastColumn: number): CellRange => ({
  firstRow,
  lastRow,
  firstColumn,
  lastColumn,
});

const CELL = rangeOf(0, 0, 0, 0);

describe('a copied cell', () => {
  test.each([
    ['a number', '1.50', '1.50'],
    ['a text', '"a b"', 'a b'],
    ['null, which is empty', 'null', ''],
    ['the empty text', '""', ''],
    ['the text null', '"null"', 'null'],
    ['a tab, in quotes', '"a\\tb"', '"a\tb"'],
    ['a line break, in quotes', '"a\\r\\nb"', '"a\r\nb"'],
    ['a quote, doubled and in quotes', '"say \\"hi\\""', '"say ""hi"""'],
    ['a character without a picture, which the grid shows as a symbol', '"a\\u0000b"', 'a\0b'],
    ['a mark of direction, which the grid shows as a symbol', '"a\\u202eb"', 'a\u202eb'],
    ['a text that the grid cuts', JSON.stringify('x'.repeat(5000)), 'x'.repeat(5000)],
    ['letters beyond ASCII', '"Zürich 東京 🚆"', 'Zürich 東京 🚆'],
  ])('has %s', async (_name, json, expected) => {
    expect(await rangeAsTsv(answerOf(['a'], [[json]]), CELL, { withHeads: false })).toBe(expected);
  });
});

describe('a copied range', () => {
  const rows = answerOf(
    ['a', 'tab\tname', 'c'],
    [
      ['1', '2', '3'],
      ['4', 'null', '6'],
      ['7', '8', '9'],
    ],
  );

  test.each([
    ['its cells alone', rangeOf(1, 2, 1, 2), false, '\t6\n8\t9'],
    ['the names of its columns first', rangeOf(1, 1, 0, 1), true, 'a\t"tab\tname"\n4\t'],
    ['everything', rangeOf(0, 2, 0, 2), false, '1\t2\t3\n4\t\t6\n7\t8\t9'],
  ])('has %s', async (_name, range, withHeads, expected) => {
    expect(await rangeAsTsv(rows, range, { withHeads })).toBe(expected);
  });

  test('has at most 200,000 cells', SLOW, async () => {
    const many = answerOf(
      ['a', 'b'],
      Array.from({ length: 100_001 }, () => ['1', '2']),
    );
    const text = await rangeAsTsv(many, rangeOf(0, 99_999, 0, 1), { withHeads: false });
    expect(text).toBe(Array.from({ length: 100_000 }, () => '1\t2').join('\n'));
    await expect(rangeAsTsv(many, rangeOf(0, 100_000, 0, 1), { withHeads: false })).rejects.toThrow(
      'A copy has at most 200\u202f000 cells. Select fewer, or download all rows.',
    );
  });

  test('has at most 64 Mi characters', SLOW, async () => {
    const long = 'x'.repeat(32 * 1024 * 1024 - 1);
    const texts = answerOf(['a'], [[`"${long}"`], [`"${long}"`], ['1']]);
    expect(await rangeAsTsv(texts, rangeOf(0, 1, 0, 0), { withHeads: false })).toHaveLength(2 * long.length + 1);
    await expect(rangeAsTsv(texts, rangeOf(0, 2, 0, 0), { withHeads: false })).rejects.toThrow(
      'A copy has at most 67\u202f108\u202f864 characters.',
    );
  });
});

describe('a copy of rows that are not loaded', () => {
  let service: Service;
  let app: ReturnType<typeof createExecApp>;
  const observer = { answered: () => {}, gone: () => {}, unauthenticated: () => {} };
  const api = createApi(new URL('http://localhost/'), observer, async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    return await app.request(`${url.pathname}${url.search}`, init);
  });

  beforeAll(() => {
    service = createService({ store: createMemoryStore() });
    app = createExecApp({ service });
  });
  afterAll(() => service.close());

  async function put(handle: string, rows: number): Promise<RowSource> {
    const body = JSON.stringify(Array.from({ length: rows }, (_, id) => ({ id, text: `row ${id}` })));
    await app.request(`/frames/${handle}`, { method: 'PUT', body, headers: { 'content-type': 'application/json' } });
    const info = (await (await app.request(`/frames/${handle}`)).json()) as FrameInfo;
    return createFrameRows(api, info, null);
  }

  test('loads them', async () => {
    const rows = await put('loaded', 2000);
    const text = await rangeAsTsv(rows, rangeOf(300, 1800, 0, 1), { withHeads: false });
    expect(text).toBe(Array.from({ length: 1501 }, (_, i) => `${300 + i}\trow ${300 + i}`).join('\n'));
    rows.close();
  });

  test('ends with the error of the server if there is one', async () => {
    const rows = await put('dropped', 10);
    await app.request('/frames/dropped', { method: 'DELETE' });
    await expect(rangeAsTsv(rows, CELL, { withHeads: false })).rejects.toMatchObject({ code: 'handle_not_found' });
    rows.close();
  });

  test('never mixes the rows of two versions', async () => {
    const rows = await put('replaced', 2000);
    await rangeAsTsv(rows, CELL, { withHeads: false });
    (await put('replaced', 2001)).close();
    await expect(rangeAsTsv(rows, rangeOf(0, 1999, 0, 0), { withHeads: false })).rejects.toThrow(
      'The frame has been replaced.',
    );
    rows.close();
  });

  test('wants them again if the grid wanted others meanwhile', async () => {
    const loaded = answerOf(['a'], [['1']]);
    const revision = signal(0);
    const wanted: CellRange[] = [];
    const rows: RowSource = {
      ...loaded,
      revision,
      cell: (row, column) => (wanted.length < 2 ? undefined : loaded.cell(row, column)),
      want(range) {
        wanted.push(range);
        // What arrives after the first wish is something else.
        queueMicrotask(() => (revision.value += 1));
      },
    };
    expect(await rangeAsTsv(rows, CELL, { withHeads: false })).toBe('1');
    expect(wanted).toEqual([CELL, CELL]);
  });
});

describe('JSON', () => {
  test.each([
    ['{"a":1,"b":[1,2]}', '{\n  "a": 1,\n  "b": [\n    1,\n    2\n  ]\n}'],
    ['[]', '[]'],
    ['{"a":{}}', '{\n  "a": {}\n}'],
    ['[9007199254740993]', '[\n  9007199254740993\n]'],
    ['{"say \\"x\\", {":"}"}', '{\n  "say \\"x\\", {": "}"\n}'],
  ])('%s has its members on lines', (text, expected) => {
    expect(indentedJson(text)).toBe(expected);
  });

  test.each([
    ['nested', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['flat', `[${'[],'.repeat(300_000)}[]]`],
    ['one string', JSON.stringify(['"'.repeat(3_000_000)])],
  ])('a value of megabytes is indented within the time of a test: %s', (_, text) => {
    expect(indentedJson(text)?.startsWith('[\n  ')).toBe(true);
  });

  test.each(['text', '12', '{broken', ''])('%j is no object', (text) => {
    expect(indentedJson(text)).toBeUndefined();
  });
});

test.each([
  ['BINARY', 'AP+A', '000000  00 ff 80                                         ...'],
  ['STRING', 'Aé', '000000  41 c3 a9                                         A..'],
])('%s %s in hex', (type, text, expected) => {
  expect(hexText(text, { name: 'c', type })).toBe(expected);
});

test.each([
  ['1', { row: 0 }],
  ['1 000 000', { row: 999_999 }],
  ['12,345', { row: 12_344 }],
  ['50%', { row: 50_000_000 }],
  ['100 %', { row: 99_999_999 }],
  ['999999999999', { row: 99_999_999 }],
  ['price', { column: 1 }],
  ['PR', { column: 1 }],
  ['mbol', { column: 2 }],
  ['2024', { column: 3 }],
  ['nothing', undefined],
  [' ', undefined],
])('%j goes to %j', (text, expected) => {
  expect(parseGoTo(text, 100_000_000, ['id', 'price', 'symbol', '2024'])).toEqual(expected);
});
