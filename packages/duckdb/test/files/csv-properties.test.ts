import { writeFile } from 'node:fs/promises';
import { columnInfo } from '@svc/frames';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runs } from '../../../../test/tier.ts';
import { createFilesFixture, type FilesFixture, textOf } from '../../src/testing/files-fixture.ts';
import { comparable, expectedColumn, rawValues } from './csv-oracle.ts';

let fixture: FilesFixture;
beforeAll(async () => {
  fixture = await createFilesFixture();
  await fixture.files.warm();
});
afterAll(() => fixture.close());

const digits = (min: number, max: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: min, maxLength: max });
const maybe = (text: fc.Arbitrary<string>): fc.Arbitrary<string> => fc.oneof(fc.constant(''), text);
const joined = (...parts: fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
  fc.tuple(...parts).map((all) => all.join(''));
const between = (min: number, max: number): fc.Arbitrary<string> =>
  fc.integer({ min, max }).map((n) => String(n).padStart(String(max).length, '0'));

const EDGES = [0n, 2n ** 24n, 2n ** 53n, 2n ** 63n, 2n ** 64n, 2n ** 127n, 10n ** 22n, 10n ** 38n];
const whole = fc.oneof(
  fc.bigInt(-100n, 100n),
  fc.tuple(fc.constantFrom(...EDGES), fc.bigInt(-3n, 3n), fc.boolean()).map(([edge, near, isNegative]) => {
    return isNegative ? -edge + near : edge + near;
  }),
);
const sign = fc.constantFrom('', '', '', '-', '+');
const exponent = joined(fc.constantFrom('e', 'E'), sign, digits(1, 3));
// Near the ends of the range of TIMESTAMP_NS the last nanoseconds stand for infinity.
const year = fc.integer({ min: 1000, max: 3000 }).filter((value) => value !== 1677 && value !== 2262);
const day = joined(year.map(String), fc.constant('-'), between(0, 13), fc.constant('-'), between(1, 31));
const zone = joined(fc.constantFrom('+', '-'), between(0, 24), fc.constantFrom('', ':00', '00', ':30', ':60'));
const time = joined(
  fc.constantFrom('T', ' '),
  between(0, 24),
  fc.constant(':'),
  between(0, 60),
  maybe(joined(fc.constant(':'), between(0, 60), maybe(joined(fc.constant('.'), digits(0, 10))))),
);
const WORDS = [
  'true',
  'FALSE',
  'T',
  'f',
  'yes',
  'NaN',
  'inf',
  '-Infinity',
  'epoch',
  'infinity',
  '0x1F',
  '1_000',
  '1/2/2024',
];

/** Texts that are values of a type, or nearly. */
const KINDS: readonly fc.Arbitrary<string>[] = [
  whole.map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? '-0' : String(value))),
  fc.double({ min: -1e6, max: 1e6, noNaN: true }).map((value) => value.toFixed(3)),
  joined(sign, digits(0, 3), maybe(joined(fc.constant('.'), digits(0, 20))), maybe(exponent)),
  fc.constantFrom('true', 'false', 'True', 'FALSE'),
  day,
  joined(day, time),
  joined(day, time, fc.constant('Z')),
  joined(day, time, zone),
  fc.constantFrom(...WORDS),
];
const anyText = fc.oneof(
  ...KINDS,
  fc.string({ unit: 'grapheme', maxLength: 12 }).filter((text) => !text.includes('\0')),
  // A character too many.
  fc.tuple(fc.oneof(...KINDS), fc.nat(30), fc.constantFrom(...' \t_+-.eEZ0:/')).map(([text, at, more]) => {
    return text.slice(0, at) + more + text.slice(at);
  }),
);

interface Column {
  readonly usual: readonly (string | null)[];
  readonly odd: string;
}

const column: fc.Arbitrary<Column> = fc.constantFrom(...KINDS).chain((kind) =>
  fc.record({
    usual: fc.array(fc.option(kind), { minLength: 1, maxLength: 6 }),
    odd: fc.oneof(kind, anyText),
  }),
);

function cell(text: string | null): string {
  if (text === null) return '';
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Writes the columns to a CSV file, and compares every value of the frame with what it must be. */
async function check(columns: readonly (readonly (string | null)[])[]): Promise<void> {
  const path = fixture.path();
  const [first = []] = columns;
  const lines = first.map((_, row) => columns.map((texts) => cell(texts[row] ?? null)).join(','));
  const header = columns.map((_, i) => `c${i}`).join(',');
  await writeFile(path, `${[header, ...lines].join('\n')}\n`);
  const target = fixture.path();
  const source = { kind: 'csv', path, header: true } as const;
  const written = await fixture.files.convert(source, target, { compression: 'zstd', level: 1 });
  const types = written.schema.fields.map((field) => columnInfo(field).type);
  const rows = (await textOf(fixture.files.read({ kind: 'parquet', path: target }, written))).split('\n').slice(0, -1);
  expect(rows).toHaveLength(lines.length);
  const values = rows.map(rawValues);
  for (const [c, texts] of columns.entries()) {
    const type = types[c] ?? '';
    const expected = expectedColumn(texts);
    const some = [...new Set(texts)].slice(0, 20);
    expect({ type, texts: some }).toEqual({ type: expected.type, texts: some });
    const wrong = texts.findIndex((_, row) => comparable(type, values[row]?.[c] ?? '') !== expected.values[row]);
    expect(wrong < 0 ? 'as sent' : [texts[wrong], type, values[wrong]?.[c], wrong]).toBe('as sent');
  }
}

test('random values of a CSV file keep their values, in the types of all of them', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(column, { minLength: 30, maxLength: 60 }), async (columns) => {
      const rows = 1 + Math.max(...columns.map(({ usual }) => usual.length));
      await check(
        columns.map(({ usual, odd }) => [odd, ...Array.from({ length: rows }, (_, row) => usual[row] ?? null)]),
      );
    }),
    { numRuns: runs(40), endOnFailure: true },
  );
}, 60_000);

test(
  'one odd value changes the type of a column, in the first row, row 20 480, the last, or between',
  { tags: ['slow'], timeout: 300_000 },
  async () => {
    const rows = 21_000;
    const place = fc.oneof(fc.constantFrom(0, 20_479, rows - 1), fc.nat(rows - 1));
    const placed = fc.tuple(column, place);
    await fc.assert(
      fc.asyncProperty(fc.array(placed, { minLength: 1, maxLength: 6 }), async (columns) => {
        await check(
          columns.map(([{ usual, odd }, at]) =>
            Array.from({ length: rows }, (_, row) => (row === at ? odd : (usual[row % usual.length] ?? null))),
          ),
        );
      }),
      { numRuns: runs(30), endOnFailure: true },
    );
  },
);
