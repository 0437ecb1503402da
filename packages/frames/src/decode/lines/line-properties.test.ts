import { ServiceError } from '@svc/errors';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../../../test/tier.ts';
import { cellsOf, decodeLines } from '../../../test/line-cells.ts';

const name = fc.stringMatching(/^[a-z ,=\\"é]{1,6}$/).filter((text) => !text.endsWith('\\'));
const escaped = (text: string): string => text.replaceAll(/[ ,=\\\n\r]/g, String.raw`\$&`);
const quotedText = (text: string): string => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
const iso = (ns: bigint): string => {
  const [seconds, rest] = [ns / 1_000_000_000n, ns % 1_000_000_000n];
  return new Date(Number(seconds) * 1000).toISOString().replace('.000Z', `.${String(rest).padStart(9, '0')}Z`);
};

/** A value, as it is written and as JSON has it. */
const value = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((x) => ({ kind: 'd', text: String(x), json: x + 0 })),
  fc.maxSafeInteger().map((x) => ({ kind: 'l', text: `${x}i`, json: Math.abs(x) >= 1e15 ? String(x) : x })),
  fc.boolean().map((x) => ({ kind: 'b', text: x ? 'true' : 'F', json: x })),
  fc.string({ unit: 'grapheme' }).map((x) => ({ kind: 's', text: quotedText(x), json: x })),
);
const time = fc.bigInt({ min: 0n, max: 9_000_000_000_000_000_000n });
const row = fc.record({
  tags: fc.uniqueArray(fc.tuple(name, fc.string({ unit: 'grapheme', maxLength: 4 })), {
    selector: ([key]) => key,
    maxLength: 4,
  }),
  fields: fc.uniqueArray(fc.tuple(name, value), {
    selector: ([key, { kind }]) => key + kind,
    minLength: 1,
    maxLength: 5,
  }),
  time,
});

test('rows are read as they were written, however the bytes arrive', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 1, max: 80 }),
      async (rows, stepBytes) => {
        // The names tell the kinds, so that no column has two.
        const cells = rows.map(({ tags, fields, time: at }) => ({
          ...Object.fromEntries(tags.map(([key, text]) => [`T${key}`, text])),
          ...Object.fromEntries(fields.map(([key, { kind, json }]) => [`${kind}${key}`, json])),
          timestamp: iso(at),
        }));
        const lines = rows.map(({ tags, fields, time: at }) => {
          const head = ['t', ...tags.map(([key, text]) => `${escaped(`T${key}`)}=${escaped(text)}`)].join(',');
          const body = fields.map(([key, { kind, text }]) => `${escaped(kind + key)}=${text}`).join(',');
          return `${head} ${body} ${at}\n`;
        });
        const [table] = decodeLines(lines.join(''), { stepBytes });
        const { columns, rows: read } = await cellsOf(table);
        const names = Object.keys(columns);
        const wanted = cells.map((cell: Record<string, unknown>) => names.map((column) => cell[column] ?? null));
        expect(read.map((line) => line.map(plain))).toEqual(wanted.map((line) => line.map(plain)));
      },
    ),
    { numRuns: runs(1000) },
  );
});

/** Whole numbers beyond doubles are texts here. */
const plain = (cell: unknown): unknown => (typeof cell === 'number' ? String(cell + 0) : cell);

/** What decoding gives: the rows, or the message of its error. */
function outcomeOf(bytes: Uint8Array, stepBytes?: number): unknown {
  try {
    const tables = decodeLines(bytes, { maxBytes: 4 * 1024 ** 2, ...(stepBytes && { stepBytes }) });
    return tables.map(({ handle, rows, lines }) => [handle, rows, [...lines.subarray(0, rows)]]);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return `${error.code} ${error.message}`;
  }
}

test('any bytes are rows or an error with a code, and the same ones however they arrive', () => {
  const piece = fc.constantFrom(
    't',
    'x',
    '=',
    ',',
    ' ',
    '\n',
    '\r',
    '"',
    '\\',
    '#',
    '1',
    '1i',
    't x=1',
    ',a=b',
    '\u00e9',
    '0',
    't',
    'n',
    '-',
  );
  const text = fc.array(piece, { maxLength: 60 }).map((pieces) => Buffer.from(pieces.join('')));
  const broken = fc
    .tuple(text, fc.nat(), fc.nat(255))
    .map(([bytes, at, byte]) =>
      bytes.length === 0 ? bytes : bytes.fill(byte, at % bytes.length, (at % bytes.length) + 1),
    );
  fc.assert(
    fc.property(broken, fc.integer({ min: 1, max: 16 }), (bytes, stepBytes) => {
      expect(outcomeOf(bytes, stepBytes)).toEqual(outcomeOf(bytes));
    }),
    { numRuns: runs(20_000) },
  );
});
