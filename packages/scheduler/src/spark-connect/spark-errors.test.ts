import { describe, expect, test } from 'vitest';
import { invalidSql, refusalError } from './spark-errors.ts';

const SQL = "SELECT '😀',\n  nope FROM t";
const refusal = (message: string, sqlState = '42601') => ({ message, sqlState, errorClass: 'X' });

describe('the SQLSTATE decides the code', () => {
  test.each([
    ['42703', 'invalid_sql'],
    ['22012', 'invalid_sql'],
    ['21000', 'invalid_sql'],
    ['0A000', 'invalid_sql'],
    ['P0001', 'invalid_sql'],
    ['HY008', 'cancelled'],
    ['42K03', 'scheduler_failed'],
    ['XX000', 'scheduler_failed'],
    ['', 'scheduler_failed'],
  ])('%s is %s', (sqlState, code) => {
    expect(refusalError(refusal('m', sqlState), SQL, undefined).code).toBe(code);
  });
});

test('a failure of the cluster shows no text of it, which can contain paths', () => {
  const error = refusalError(
    { message: 'at /data/x', sqlState: 'KD001', errorClass: 'FAILED_READ_FILE' },
    SQL,
    undefined,
  );
  expect(error.message).toBe('The scheduler failed to run the statement (FAILED_READ_FILE, SQLSTATE KD001).');
  expect(error.cause).toMatchObject({ message: 'at /data/x' });
});

describe('a message is one line without its class, SQLSTATE and place', () => {
  test.each([
    [
      "\n[PARSE_SYNTAX_ERROR] Syntax error at or near 'y'. SQLSTATE: 42601 (line 3, pos 7)\n\n== SQL ==\n(",
      "Syntax error at or near 'y'.",
      19,
    ],
    ["[UNRESOLVED_COLUMN.WITH_SUGGESTION] No `x`. SQLSTATE: 42703; line 3 pos 2;\n'Project", 'No `x`.', 14],
    ['[A.B] At the parenthesis. SQLSTATE: 42601 (line 1, pos 0)', 'At the parenthesis.', 0],
    ['[A.B] After the end. SQLSTATE: 42601 (line 4, pos 0)', 'After the end.', 25],
    ['[A] No place. SQLSTATE: 42601', 'No place.', undefined],
    ["invalid argument: found y at 19:20 expected ','", "found y expected ','", 14],
    ['', 'The scheduler refused the SQL.', undefined],
  ])('%j', (message, text, position) => {
    expect(invalidSql(refusal(message), SQL, undefined)).toMatchObject({ message: text, position, query: SQL });
  });

  test('the index that the server gives counts characters from the parenthesis', () => {
    expect(invalidSql({ ...refusal('m'), startIndex: 16 }, SQL, undefined).position).toBe(14);
  });

  test('an index of -1 means that the server does not know the place', () => {
    expect(invalidSql({ ...refusal('m'), startIndex: -1 }, SQL, undefined).position).toBeUndefined();
  });
});
