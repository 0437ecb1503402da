import { ServiceError } from '@svc/errors';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../../test/tier.ts';
import { SPARK_ATTACKS, STANDARD_ATTACKS } from '../testing/fence-attacks.ts';
import { SPARK_QUERIES, STANDARD_QUERIES } from '../testing/fence-queries.ts';
import { checkStatement, type SqlDialect } from './check-statement.ts';
import { SPARK } from './spark-dialect.ts';
import { STANDARD } from './standard-dialect.ts';
import { lex as lexAs, type Token } from './lexer.ts';

const LEXERS: Readonly<Record<SqlDialect, (sql: string) => Promise<Token[]>>> = {
  spark: (sql: string) => lexAs(sql, SPARK),
  standard: (sql: string) => lexAs(sql, STANDARD),
};
const TEXTS = {
  spark: [...SPARK_QUERIES, ...SPARK_ATTACKS].map(({ sql }) => sql),
  standard: [...STANDARD_QUERIES, ...STANDARD_ATTACKS].map(({ sql }) => sql),
};

/** Parts of which texts are made that are hard to read. */
const PIECES = [
  ...`' " \` '' "" \\ \\' \\" -- -- \\ /* */ /*+ /*! \n \r\n \r ; ( ) [ ] , . ? $$ $a$ @ # { } : :: | |> -> => * / // 1 1a 1. .5`.split(
    ' ',
  ),
  ...'SELECT FROM WHERE a t x r R X E AS IN (1) WITH UNION TABLE VALUES GROUP BY USING JOIN LATERAL'.split(' '),
  '\n',
  '\\\n',
  '\u00a0',
  '\u2028',
  '\ufeff',
  'ſ',
  'K',
  'ı',
  '🜁',
  '\ud800',
];

const blank = fc.constantFrom(' ', '\n', '\t', '\r\n', ' /* x */ ', ' -- x\n', '/**/ ', "/* ' */ ", '-- `\n');

function withBlanks(words: readonly string[]): fc.Arbitrary<string> {
  return fc
    .tuple(...words.map((word) => fc.tuple(blank, inAnyCase(word))))
    .map((parts) => parts.map(([before, word]) => before + word).join(''));
}

function inAnyCase(word: string): fc.Arbitrary<string> {
  const letters = Array.from(word);
  return fc
    .array(fc.boolean(), { minLength: letters.length, maxLength: letters.length })
    .map((uppers) => letters.map((letter, i) => (uppers[i] ? letter.toUpperCase() : letter)).join(''));
}

/** Closes all parentheses, so that they are not the reason of a refusal. */
function closed(sql: string): string {
  return sql + ')'.repeat(Math.max(0, sql.split('(').length - sql.split(')').length));
}

/** Returns the error of the fence. Anything but a `ServiceError` with a position is a bug. */
async function check(sql: string, dialect: SqlDialect): Promise<ServiceError | undefined> {
  try {
    await checkStatement(sql, dialect);
    return undefined;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.position === undefined) throw error;
    return error;
  }
}

describe.each(['spark', 'standard'] as const)('the fence for %s', (dialect) => {
  const lex = LEXERS[dialect];
  const piece = fc.oneof(fc.constantFrom(...PIECES), fc.string({ unit: 'binary', maxLength: 3 }));
  const soup = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(' '));
  const damaged = fc
    .tuple(fc.constantFrom(...TEXTS[dialect]), fc.nat(), fc.nat({ max: 4 }), piece)
    .map(([text, at, length, added]) => {
      const start = at % (text.length + 1);
      return text.slice(0, start) + added + text.slice(start + length);
    });
  const anyText = fc.oneof(soup, damaged, fc.constantFrom(...TEXTS[dialect]));

  test('reads the same tokens in a text that passes when it stands in parentheses', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, async (text) => {
        if ((await check(text, dialect)) !== undefined) return;
        const { sql } = await checkStatement(text, dialect);
        const inside = (await lex(`(\n${sql}\n)`)).slice(1, -1);
        expect(inside.map((token) => ({ ...token, start: token.start - 2 }))).toEqual(await lex(sql));
      }),
      { numRuns: runs(20_000) },
    );
  });

  test('never lets a text leave its parentheses', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, async (text) => {
        if ((await check(text, dialect)) !== undefined) return;
        let depth = 0;
        for (const token of await lex((await checkStatement(text, dialect)).sql)) {
          if (token.kind === 'symbol') depth += token.text === '(' ? 1 : token.text === ')' ? -1 : 0;
          expect(depth).toBeGreaterThanOrEqual(0);
          expect(token.text).not.toBe(';');
        }
        expect(depth).toBe(0);
      }),
      { numRuns: runs(20_000) },
    );
  });
});

describe('the fence for spark', () => {
  const call = fc.constantFrom('reflect', 'java_method', 'try_reflect', 'input_file_name', 'unknown', 'identifier');
  const quotes = fc.constantFrom('', '`');
  const qualifier = fc.constantFrom([], ['builtin', '.'], ['system', '.', 'builtin', '.'], ['`system`', '.']);
  const table = fc.constantFrom(
    ['text', '.', '`/etc/passwd`'],
    ['`parquet`', '.', '`s3://a`'],
    ['spark_catalog', '.', 'default', '.', 'secret'],
    ["'/etc/passwd'"],
    ['read_files', '(', "'/a'", ')'],
    ['identifier', '(', "'a'", ')'],
    ['stream', 'secret'],
  );

  test('refuses calls of forbidden functions in every case, quoting and spacing', async () => {
    const attack = fc
      .tuple(call, quotes, qualifier, fc.constantFrom('a +', 'a,', '(', 'CASE WHEN', 'abs(', 'NOT', '1 |'))
      .chain(([name, quote, before, prefix]) =>
        withBlanks(['SELECT', prefix, ...before, `${quote}${name}${quote}`, '(', "'a'", ',', "'b'", ')', 'FROM', 't']),
      );
    await fc.assert(
      fc.asyncProperty(attack, async (sql) => {
        expect(await check(closed(sql), 'spark'), sql).toBeDefined();
      }),
      { numRuns: runs(5000) },
    );
  });

  test('refuses tables that are no plain names, wherever a table can stand', async () => {
    const place = fc.constantFrom(
      ['SELECT', '*', 'FROM'],
      ['SELECT', '*', 'FROM', 't', ','],
      ['SELECT', '*', 'FROM', 't', 'WHERE', ','],
      ['SELECT', '*', 'FROM', 't', 'JOIN', 'LATERAL'],
      ['SELECT', '*', 'FROM', 't', 'ON', 'a', '=', 'b', ','],
      ['SELECT', 'a', 'IN', '(', 'SELECT', 'b', 'FROM'],
      ['SELECT', '1', 'UNION', 'SELECT', '*', 'FROM', '('],
      ['SELECT', 'is', 'DISTINCT', 'FROM'],
      ['TABLE'],
      ['FROM'],
    );
    const attack = fc.tuple(place, table).chain(([before, name]) => withBlanks([...before, ...name]));
    await fc.assert(
      fc.asyncProperty(attack, async (sql) => {
        expect(await check(closed(sql), 'spark'), sql).toBeDefined();
      }),
      { numRuns: runs(5000) },
    );
  });
});
