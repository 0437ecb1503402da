import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { drawChart } from '../src/prompt/chart.ts';
import { completeSql } from '../src/prompt/complete-sql.ts';
import { createResultKeeper, MAX_ROWS } from '../src/prompt/prompt-session.ts';
import { historyFile, isBlank, loadHistory, MAX_ENTRIES, onOneLine, splitSql } from '../src/prompt/run-prompt.ts';

describe('SQL is split at semicolons', () => {
  test.each<[text: string, statements: string[], rest: string]>([
    ['', [], ''],
    ['select 1', [], 'select 1'],
    ['select 1;', ['select 1'], ''],
    [' select 1 ; select 2;\n', ['select 1', 'select 2'], '\n'],
    ["select ';' ; x", ["select ';'"], ' x'],
    ["select 'it''s;' ;", ["select 'it''s;'"], ''],
    ["select ';", [], "select ';"],
    ['select ";" from "a""b;";', ['select ";" from "a""b;"'], ''],
    ['select 1 -- ;\n;', ['select 1 -- ;'], ''],
    ['select /* ; */ 1;', ['select /* ; */ 1'], ''],
    ['select /* ;', [], 'select /* ;'],
    ['select $$ ; $$, $t$ $$; $t$;', ['select $$ ; $$, $t$ $$; $t$'], ''],
    ['select $1 - 2 / 3;', ['select $1 - 2 / 3'], ''],
    [';; -- nothing\n;', [], ''],
  ])('%j', (text, statements, rest) => {
    expect(splitSql(text)).toEqual({ statements, rest });
  });

  test('and nothing of it is lost, whatever it is', () => {
    const piece = fc.constantFrom("'", '"', ';', '--', '/*', '*/', '$$', '$a$', '\n', 'x', ' ');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const text = pieces.join('');
        const { statements, rest } = splitSql(text);
        let at = 0;
        for (const part of [...statements, rest]) {
          const found = text.indexOf(part, at);
          expect(found).toBeGreaterThanOrEqual(at);
          at = found + part.length;
        }
        expect(text.endsWith(rest)).toBe(true);
      }),
    );
  });

  test.each<[text: string, line: string | undefined]>([
    ['select 1', 'select 1'],
    ['select 1,\n  2', 'select 1, 2'],
    ['select 1 -- one\n, 2', 'select 1   , 2'],
    ["select 'a  b'\n from t", "select 'a  b' from t"],
    ["select 'a\nb'", undefined],
  ])('%j is remembered as %j', (text, line) => {
    expect(onOneLine(text)).toBe(line);
  });

  test('comments and white space are blank', () => {
    expect(['', ' \n', '-- x', '/* x */ --'].map(isBlank)).toEqual([true, true, true, true]);
    expect(['x', "''", '/* x */ 1'].map(isBlank)).toEqual([false, false, false]);
  });
});

describe('a chart', () => {
  test('has the highest value on top, the lowest below, and a gap for a missing value', () => {
    expect(drawChart({ name: 'p', values: [1, 2, NaN, 3] }, 40)).toEqual([
      '3 │   █',
      '  │   █',
      '  │   █',
      '  │   █',
      '  │   █',
      '  │ █ █',
      '  │ █ █',
      '  │ █ █',
      '  │ █ █',
      '1 │▁█ █',
      '  └────',
      'p: 4 rows, min 1, max 3, mean 2',
    ]);
  });

  test.each<[name: string, values: number[]]>([
    ['one value', [5]],
    ['equal values', [5, 5, 5]],
    ['the largest numbers', [-Number.MAX_VALUE, Number.MAX_VALUE]],
    ['many values', Array.from({ length: 100_000 }, (_, i) => Math.sin(i / 1000))],
    ['infinities', [1, Infinity, -Infinity, 2]],
  ])('of %s fits the terminal', (_name, values) => {
    const lines = drawChart({ name: 'v', values }, 60);
    expect(lines).toHaveLength(12);
    expect(Math.max(...lines.slice(0, -1).map((line) => line.length))).toBeLessThanOrEqual(60);
    expect(lines.join('')).not.toMatch(/NaN|undefined/);
    expect(lines.slice(0, -2).join('')).toMatch(/[▁-█]/);
  });

  test('of no values says so', () => {
    expect(drawChart({ name: 'v\u001b', values: [NaN] }, 60)).toEqual(['v\\u001b: no numbers in 1 row']);
    expect(drawChart({ name: 'v', values: [] }, 60)).toEqual(['v: no numbers in 0 rows']);
  });

  test('has the numbers of a result, up to the limit', () => {
    const keeper = createResultKeeper();
    const columns = [
      { name: 's', isNumeric: false },
      { name: 'n', isNumeric: true },
    ];
    keeper.onRows(columns, [
      ['a', '1.5'],
      ['b', null],
    ]);
    expect(keeper.result()).toMatchObject({ series: [{ name: 'n', values: [1.5, NaN] }], isCut: false });
    keeper.onRows(
      columns,
      Array.from({ length: MAX_ROWS }, () => ['x', '1'] as const),
    );
    const { series, isCut } = keeper.result();
    expect([series[0]?.values.length, isCut]).toEqual([MAX_ROWS, true]);
  });
});

describe('the Tab key', () => {
  const columns = (...names: string[]): { name: string; type: string; nullable: boolean }[] =>
    names.map((name) => ({ name, type: 'LONG', nullable: true }));
  const words = {
    frames: [
      { handle: 'trades', columns: columns('price', 'symbol') },
      { handle: 'my-frame.v2', columns: columns('Odd name', 'prize') },
    ],
    resultColumns: ['avg'],
    commands: ['\\d', '\\chart', '\\q'],
    formats: ['table', 'csv'],
  };

  test.each<[line: string, before: string, found: string[], word: string]>([
    ['sel', '', ['select'], 'sel'],
    ['SEL', '', ['SELECT'], 'SEL'],
    ['select * from tra', '', ['trades'], 'tra'],
    ['select * from TRA', '', ['trades'], 'TRA'],
    ['select * from my', '', ['"my-frame.v2"'], 'my'],
    ['select * from "my', '', ['"my-frame.v2"'], '"my'],
    ['from trades select pri', '', ['price'], 'pri'],
    ['pri', 'select * from "my-frame.v2" where ', ['prize'], 'pri'],
    ['where pri', '', ['price', 'prize'], 'pri'],
    ['select "od', '', ['"Odd name"'], '"od'],
    ['select xyz', '', [], 'xyz'],
    ['\\', '', ['\\d', '\\chart', '\\q'], '\\'],
    ['\\ch', '', ['\\chart'], '\\ch'],
    ['\\d t', '', ['trades'], 't'],
    ['\\chart ', '', ['avg'], ''],
    ['\\format c', '', ['csv'], 'c'],
    ['\\timing ', '', [], ''],
  ])('completes %j behind %j', (line, before, found, word) => {
    expect(completeSql(line, before, words)).toEqual([found, word]);
  });
});

describe('the history', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-history-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  test.each<[env: Record<string, string>, homeDir: string, file: string | undefined]>([
    [{}, '/home/me', '/home/me/.local/state/svc/history'],
    [{ XDG_STATE_HOME: '/state' }, '/home/me', '/state/svc/history'],
    [{ XDG_STATE_HOME: '' }, '/home/me', '/home/me/.local/state/svc/history'],
    [{ SVC_HISTORY: '/x' }, '/home/me', '/x'],
    [{ SVC_HISTORY: '' }, '/home/me', undefined],
    [{}, '', undefined],
  ])('with %j and the home %j is %j', (env, homeDir, file) => {
    expect(historyFile({ env, homeDir })).toBe(file);
  });

  test('is private to the user, newest first', async () => {
    const file = join(folder, 'state', 'svc', 'history');
    const history = await loadHistory(file);
    await history.add('select 1;');
    await history.add('select 2;');
    await history.add('x'.repeat(20_000));
    expect((await loadHistory(file)).entries).toEqual(['select 2;', 'select 1;']);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, 'state'))).mode & 0o777).toBe(0o700);
  });

  test('does not grow without limit', async () => {
    const file = join(folder, 'history');
    const lines = Array.from({ length: 2 * MAX_ENTRIES + 1 }, (_, i) => `select ${i};`);
    await writeFile(file, `${lines.join('\n')}\n`);
    const { entries } = await loadHistory(file);
    expect([entries.length, entries[0], entries.at(-1)]).toEqual([MAX_ENTRIES, 'select 2000;', 'select 1001;']);
    expect((await readFile(file, 'utf8')).split('\n')).toHaveLength(MAX_ENTRIES + 1);
  });

  test.skipIf(process.getuid?.() === 0)('that cannot be written is not an error', async () => {
    await chmod(folder, 0o500);
    await (await loadHistory(join(folder, 'no', 'history'))).add('x');
    await chmod(folder, 0o700);
  });

  test('in the place of a folder is not an error', async () => {
    const history = await loadHistory(folder);
    await history.add('select 1;');
    expect(history.entries).toEqual([]);
  });
});
