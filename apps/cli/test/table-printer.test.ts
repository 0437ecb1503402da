import { describe, expect, test } from 'vitest';
import { type Cell, createTablePrinter, type TableColumn } from '../src/output/table-printer.ts';
import { cutText, cutTextLeft, textWidth, visibleText } from '../src/text.ts';
import { createSink } from './run.ts';

const ID: TableColumn = { name: 'id', type: 'LONG', isNumeric: true };
const NOTE: TableColumn = { name: 'note', type: 'STRING', isNumeric: false };

async function print(columns: readonly TableColumn[], rows: readonly Cell[][], width?: number): Promise<string[]> {
  const sink = createSink(width);
  const printer = createTablePrinter(columns, sink, { more: 'use --csv' });
  await printer.add(rows);
  await printer.end();
  return sink.text().split('\n').slice(0, -1);
}

describe('the table', () => {
  test('has types under names, numbers at the right, and no spaces at the end of a text', async () => {
    expect(
      await print(
        [NOTE, ID, NOTE],
        [
          ['a', '1', 'b'],
          ['longer', '-123', ''],
        ],
      ),
    ).toEqual([
      'note      id  note',
      'STRING  LONG  STRING',
      '──────  ────  ──────',
      'a          1  b',
      'longer  -123  ',
    ]);
  });

  test('distinguishes a missing value from the string null and from an empty string', async () => {
    expect(
      (
        await print(
          [ID, NOTE],
          [
            [null, null],
            ['1', 'null'],
            ['2', ''],
          ],
        )
      ).slice(3),
    ).toEqual(['null  null', '   1  "null"', '   2  ']);
  });

  test('dims types, rules and missing values if there are colours', async () => {
    const sink = { ...createSink(), isStyled: true };
    const printer = createTablePrinter([ID], sink, { more: 'use --csv' });
    await printer.add([[null], ['1']]);
    await printer.end();
    const dim = (text: string): string => `\u001b[2m${text}\u001b[22m`;
    expect(sink.text().split('\n')).toEqual(['  id', dim('LONG'), dim('────'), dim('null'), '   1', '']);
  });

  test('has only a head if there are no rows', async () => {
    expect(await print([ID], [])).toEqual(['  id', 'LONG', '────']);
  });

  test('has no line of types if no column has a type', async () => {
    expect(await print([{ name: 'handle', isNumeric: false }], [['t']])).toEqual(['handle', '──────', 't']);
  });

  test('escapes control characters, in names too', async () => {
    expect(await print([{ ...NOTE, name: 'a\nb' }], [['x\ty\r\n'], ['\u001b[31mred'], ['\u202egnp.exe']])).toEqual([
      'a\\nb',
      'STRING',
      '─────────────',
      'x\\ty\\r\\n',
      '\\u001b[31mred',
      '\\u202egnp.exe',
    ]);
  });

  test('aligns wide and combining characters by their width', async () => {
    expect(
      (
        await print(
          [NOTE, ID],
          [
            ['日本', '1'],
            ['e\u0301té', '2'],
            ['👩‍👩‍👧', '3'],
            ['abcdef', '4'],
          ],
        )
      ).slice(3),
    ).toEqual(['日本       1', 'e\u0301té        2', '👩‍👩‍👧         3', 'abcdef     4']);
  });

  test('cuts the widest texts to the terminal and never a number', async () => {
    const rows = [['12345678901234567890', 'a'.repeat(50), 'short']];
    const lines = await print([ID, NOTE, NOTE], rows, 44);
    expect(lines[3]).toBe(`12345678901234567890  ${'a'.repeat(13)}…  short`);
    expect(Math.max(...lines.map(textWidth))).toBeLessThanOrEqual(44);
    expect((await print([ID, NOTE, NOTE], rows))[3]).toBe(`12345678901234567890  ${'a'.repeat(50)}  short`);
  });

  const TIME: TableColumn = { name: 'time', type: 'TIMESTAMP', isNumeric: false, isWhole: true };
  const AT = '2024-01-02T03:04:05.678901Z';

  test('leaves out columns in the middle instead of cutting times and numbers', async () => {
    const columns = [TIME, NOTE, ID, ID, NOTE, TIME];
    const row = [AT, 'a'.repeat(50), '1', '2', 'b'.repeat(50), AT];
    expect(await print(columns, [row, [null, 'x', null, '2', 'y', AT]], 80)).toEqual([
      'time                         note                 …  time',
      'TIMESTAMP                    STRING               …  TIMESTAMP',
      '───────────────────────────  ───────────────────  ─  ───────────────────────────',
      `${AT}  aaaaaaaaaaaaaaaaaa…  …  ${AT}`,
      `null                         x                    …  ${AT}`,
      '3 columns not shown; use --csv',
    ]);
    expect((await print(columns, [row], 200))[3]).toBe(
      `${AT}  ${'a'.repeat(50)}     1     2  ${'b'.repeat(50)}  ${AT}`,
    );
  });

  test('leaves out columns instead of cutting wide characters below their least width', async () => {
    const lines = await print([NOTE, NOTE, NOTE], [['日本語日本語日本語', '👩‍👩‍👧'.repeat(9), 'e\u0301'.repeat(20)]], 34);
    expect(lines).toEqual([
      'note            …  note',
      'STRING          …  STRING',
      '──────────────  ─  ──────────────',
      `日本語日本語…   …  ${'e\u0301'.repeat(13)}…`,
      '1 column not shown; use --csv',
    ]);
  });

  test('cuts a long name rather than a value, and does not leave out its column', async () => {
    const name = 'the_number_of_trades_since_midnight';
    expect(
      await print(
        [
          { ...ID, name },
          { ...TIME, name },
        ],
        [['1234567', AT]],
        44,
      ),
    ).toEqual([
      'the_number_of_…  the_number_of_trades_since…',
      '           LONG  TIMESTAMP',
      '───────────────  ───────────────────────────',
      `        1234567  ${AT}`,
    ]);
  });

  test.each(Array.from({ length: 60 }, (_, i) => i + 1))(
    'fits a terminal of %d columns if texts can be cut',
    async (width) => {
      const row = ['日本語'.repeat(9), 'a'.repeat(30), '👍'.repeat(20), 'e\u0301'.repeat(40)];
      const lines = (await print([NOTE, NOTE, NOTE, NOTE], [row], width)).filter((line) => !line.includes('not shown'));
      expect(Math.max(...lines.map(textWidth))).toBeLessThanOrEqual(Math.max(width, 4));
    },
  );

  test('prints the head again if a later row leaves less space', async () => {
    const rows = Array.from({ length: 1001 }, (_, i) => ['a'.repeat(12), String(i), i === 1000 ? '9'.repeat(30) : '1']);
    const lines = await print([NOTE, ID, ID], rows, 40);
    expect(lines.slice(0, 4)).toEqual([
      'note            id    id',
      'STRING        LONG  LONG',
      '────────────  ────  ────',
      'aaaaaaaaaaaa     0     1',
    ]);
    expect(lines.slice(-5)).toEqual([
      'note          …',
      'STRING        …',
      '────────────  ─',
      'aaaaaaaaaaaa  …',
      '2 columns not shown; use --csv',
    ]);
  });

  test('cuts a very long text without measuring all of it', async () => {
    const [, , , line] = await print([NOTE], [['é'.repeat(5_000_000)]], 80);
    expect(line).toBe(`${'é'.repeat(79)}…`);
  });

  test('widens from block to block and prints the head once', async () => {
    const rows = Array.from({ length: 2500 }, (_, i) => [String(i), i === 2400 ? 'x'.repeat(30) : 'y']);
    const lines = await print(
      [NOTE, ID],
      rows.map(([id, note]) => [note, id]),
    );
    expect(lines).toHaveLength(3 + 2500);
    expect(lines[3]).toBe('y          0');
    expect(lines[3 + 2400]).toBe(`${'x'.repeat(30)}  2400`);
    expect(lines[3 + 2499]).toBe(`y${' '.repeat(29)}  2499`);
  });
});

describe('text', () => {
  test.each([
    ['plain', 'plain'],
    ['é 日 👍', 'é 日 👍'],
    ['\u0000\u007f\u009b', '\\u0000\\u007f\\u009b'],
    ['a\u2028b\u2067c', 'a\\u2028b\\u2067c'],
  ])('%j is shown as %s', (text, visible) => {
    expect(visibleText(text)).toBe(visible);
  });

  test.each([
    ['abcdef', 6, 'abcdef', 'abcdef'],
    ['abcdef', 5, 'abcd…', '…cdef'],
    ['日本語', 6, '日本語', '日本語'],
    ['日本語', 5, '日本…', '…本語'],
    ['日本語', 4, '日…', '…語'],
    ['e\u0301e\u0301e\u0301', 2, 'e\u0301…', '…e\u0301'],
  ])('%s cut to %d columns is %s, and from the left %s', (text, width, right, left) => {
    expect(cutText(text, width)).toBe(right);
    expect(cutTextLeft(text, width)).toBe(left);
  });
});
