import { ServiceError } from '@svc/errors';
import { describe, expect, test } from 'vitest';
import { SPARK_ATTACKS, STANDARD_ATTACKS } from '../testing/fence-attacks.ts';
import { SPARK_QUERIES, STANDARD_QUERIES } from '../testing/fence-queries.ts';
import { checkStatement, checkTables, type SqlDialect } from './check-statement.ts';

async function refusalOf(sql: string, dialect: SqlDialect): Promise<ServiceError> {
  try {
    await checkStatement(sql, dialect);
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error(`The fence lets through: ${sql}`);
}

describe.each([
  ['spark', SPARK_ATTACKS],
  ['standard', STANDARD_ATTACKS],
] as const)('the fence for %s', (dialect, attacks) => {
  test.each(attacks)('refuses SQL that $does: $sql', async ({ sql }) => {
    const error = await refusalOf(sql, dialect);
    expect(['permission_denied', 'invalid_sql']).toContain(error.code);
    expect(error.message).toMatch(/\.$/);
    expect(error.hint).toMatch(/[.?]$/);
    expect(error.query).toBe(sql);
    expect(error.position).toBeLessThanOrEqual(Array.from(sql).length);
  });

  test('refuses an empty statement, and one of comments alone', async () => {
    for (const sql of ['', '  \n', '-- a', '/* a */', ';']) {
      expect(await refusalOf(sql, dialect)).toMatchObject({ code: 'invalid_sql', query: sql });
    }
  });

  test('refuses parentheses that are nested too deep, however many there are', async () => {
    const sql = `${'('.repeat(9000)}SELECT 1${')'.repeat(9000)}`;
    expect((await refusalOf(sql, dialect)).message).toBe('The SQL is nested more than 200 levels deep.');
  });

  test.each([
    ['a hint', `SELECT /*+ ${'a'.repeat(500_000)}' */ 1`],
    ['blanks in a hint', `SELECT /*+ a${' '.repeat(500_000)}' */ 1`],
    ['an open string', `SELECT '${'a'.repeat(500_000)}`],
    ['escapes', `SELECT '${String.raw`\'`.repeat(250_000)}`],
    ['quotes', `SELECT ${'"'.repeat(500_001)}`],
    ['backticks', `SELECT ${'`'.repeat(500_001)}`],
    ['digits', `SELECT ${'1'.repeat(500_000)}a`],
    ['comments', `SELECT ${'/**/'.repeat(125_000)}/*`],
    ['queries of WITH', `WITH ${'a AS (SELECT 1), '.repeat(12_000)}`],
  ])('refuses half a megabyte of %s without a long wait', async (_name, sql) => {
    const start = performance.now();
    await refusalOf(sql, dialect);
    expect(performance.now() - start).toBeLessThan(10_000);
  });

  test('reads a string of two megabytes', async () => {
    const sql = `SELECT '${'a'.repeat(2_000_000)}'`;
    expect((await checkStatement(sql, dialect)).sql).toBe(sql);
  });

  test('refuses more tokens than a person writes', async () => {
    const sql = `SELECT ${'1, '.repeat(10_000)}1`;
    expect((await refusalOf(sql, dialect)).message).toBe('The SQL has more than 20000 tokens.');
  });
});

describe.each([
  ['spark', SPARK_QUERIES],
  ['standard', STANDARD_QUERIES],
] as const)('the fence for %s', (dialect, queries) => {
  test.each(queries)('lets through $sql', async ({ sql, tables }) => {
    const statement = await checkStatement(sql, dialect);
    expect([...new Set(statement.tables.map(({ name }) => name))].toSorted()).toEqual(tables.toSorted());
  });
});

describe('a checked statement', () => {
  test('has the number of its parameters, without question marks in strings, names and comments', async () => {
    const sql = "SELECT ?, '?', `?` -- ?\n FROM t /* ? */ WHERE a = ?";
    expect((await checkStatement(sql, 'spark')).parameters).toBe(2);
  });

  test('has no semicolon at its end, and the same positions', async () => {
    expect((await checkStatement(' SELECT 1 ; -- a\n', 'spark')).sql).toBe(' SELECT 1 ');
    expect((await checkStatement(' SELECT 1 -- a', 'spark')).sql).toBe(' SELECT 1 -- a');
  });

  test('knows where each of its tables is first', async () => {
    const sql = "SELECT '🜁' FROM a JOIN `b` ON true JOIN a AS c ON true";
    expect((await checkStatement(sql, 'spark')).tables).toEqual([
      { name: 'a', start: 17 },
      { name: 'b', start: 24 },
    ]);
  });

  test.each([
    ['a query of WITH before its definition', 'WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a', ['b']],
    ['a query of WITH in itself', 'WITH a AS (SELECT * FROM a) SELECT * FROM a', ['a']],
    ['a query of WITH outside of its parentheses', 'SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a), a', ['a']],
    ['a query of WITH in another case', 'WITH A AS (SELECT 1) SELECT * FROM a', ['a']],
    ['a query of WITH of another branch', '(WITH a AS (SELECT 1) SELECT 1) UNION SELECT * FROM a', ['a']],
  ])('reads a table that is named like %s', async (_name, sql, tables) => {
    expect((await checkStatement(sql, 'spark')).tables.map(({ name }) => name)).toEqual(tables);
  });
});

describe('an error', () => {
  test('has the position in characters and a hint', async () => {
    expect(await refusalOf("SELECT '🜁', reflect('a', 'b')", 'spark')).toMatchObject({
      code: 'permission_denied',
      message: 'The function reflect runs methods of Java classes on the cluster.',
      position: 12,
      hint: 'Write the SQL without it.',
    });
  });

  test.each([
    ['SELECT summ(a) FROM t', 'The function summ is not allowed on the cluster.', 'Did you mean sum?'],
    ['SHOW TABLES', 'SHOW cannot run on the cluster: only queries can.', /SELECT, WITH or VALUES/],
    ['SELECT 1; SELECT 2', 'The SQL has more than one statement.', 'Send one statement at a time.'],
    ['SELECT a\u00a0FROM t', 'The character U+00A0 cannot be used here.', /a space/],
    ['SELECT größe FROM t', 'The character "ö" (U+00F6) cannot be used here.', /quoted names/],
    ['SELECT a FROM select', 'SELECT cannot be used here.', 'If it is a name, write `select`.'],
    ['SELECT * FROM text.`/a`', 'A table after "text" and a dot is not a frame.', /Quote a handle/],
  ])('of %j says what to do', async (sql, message, hint) => {
    const error = await refusalOf(sql, 'spark');
    expect(error.message).toBe(message);
    expect(error.hint).toMatch(hint);
  });
});

describe('checkTables', () => {
  test('refuses a table that is no frame, with its position in characters', async () => {
    const statement = await checkStatement("SELECT '🜁' FROM frame JOIN secret ON true;", 'spark');
    expect(() => checkTables(statement, (name) => name === 'frame')).toThrow(
      expect.objectContaining({ code: 'invalid_sql', message: 'There is no frame "secret".', position: 27 }),
    );
    expect(() => checkTables(statement, () => true)).not.toThrow();
  });
});
