import { expect, test } from 'vitest';
import { ChildError } from '../child-link/child-errors.ts';
import { toSqlError } from './errors.ts';

const context = { sql: 'SELECT 1', pins: [], privatePaths: ['/tmp/svc-sql-1-abc'] };

test.each([
  ['Out of Memory', 'could not allocate block of size 256.0 KiB (142.8 MiB/143.0 MiB used)', 'out_of_memory'],
  ['Out of Memory', 'adjust the max_temp_directory_size setting', 'out_of_disk'],
  ['Serialization', 'Failed to write JSON string: memory allocation failed', 'out_of_memory'],
  ['', 'std::bad_alloc', 'out_of_memory'],
  ['IO', 'Could not write file: No space left on device', 'out_of_disk'],
  ['IO', 'Could not read file: Input/output error', 'internal'],
  ['IO', 'Cannot open file: Too many open files', 'unavailable'],
  ['Invalid Input', 'too many open files', 'invalid_sql'],
  ['', 'Failed to execute prepared statement', 'invalid_sql'],
  // Words that the client's SQL put into the message mean nothing.
  ['Invalid Input', 'out of memory', 'invalid_sql'],
  ['Conversion', "Could not convert string 'No space left on device' to INT32", 'invalid_sql'],
])('%s Error: %s is %s', (kind, message, code) => {
  const error = new ChildError({ code: 'sql_fault', kind, message });
  expect(toSqlError(error, context)).toMatchObject({ code });
});

test('the lines after the first of a DuckDB message become the hint', () => {
  const message = 'Referenced column "prise" not found in FROM clause!\nCandidate bindings: "price",\n\t"size"';
  const error = new ChildError({ code: 'sql_fault', kind: 'Binder', message });
  expect(toSqlError(error, context)).toMatchObject({
    message: 'Referenced column "prise" not found in FROM clause!',
    hint: 'Candidate bindings: "price", "size".',
  });
});

test.each([
  [`SELECT * FROM t WHERE city = "O'Hare"`, `Candidate bindings: "city". Text is in single quotes: 'O''Hare'.`],
  [`SELECT O'Hare FROM t`, 'Candidate bindings: "city".'],
])('a name in double quotes that no column has may be a text: %s', (sql, hint) => {
  const message = `Referenced column "O'Hare" not found in FROM clause!\nCandidate bindings: "city"`;
  const error = new ChildError({ code: 'sql_fault', kind: 'Binder', message });
  expect(toSqlError(error, { ...context, sql })).toMatchObject({ hint });
});

test('no error reveals where the engine keeps its files', () => {
  const message = 'cannot open "/tmp/svc-sql-1-abc/duckdb_temp"';
  const error = new ChildError({ code: 'sql_fault', kind: 'Invalid Input', message });
  expect(toSqlError(error, context).message).toBe('cannot open "…/duckdb_temp".');
});
