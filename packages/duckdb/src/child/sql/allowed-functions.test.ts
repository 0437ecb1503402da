import { DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, expect, test } from 'vitest';
import { isShadowed } from './sql-catalogue.ts';
import { ALLOWED_FUNCTIONS } from './generated/allowed-functions.ts';
import { type FunctionPlace, namesIn, REFUSED_FUNCTIONS } from './refused-functions.ts';

const PLACES: readonly FunctionPlace[] = ['values', 'tables'];
const KINDS = {
  values: ['scalar', 'aggregate', 'macro'],
  tables: ['table', 'table_macro'],
} as const;

const known = new Map<FunctionPlace, Set<string>>();

beforeAll(async () => {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  for (const place of PLACES) {
    const kinds = KINDS[place].map((kind) => `'${kind}'`).join(', ');
    const result = await connection.run(
      `SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE function_type IN (${kinds})`,
    );
    known.set(place, new Set((await result.getRows()).map(([name]) => String(name))));
  }
});

test.each(PLACES)('every function of DuckDB (%s) is either allowed, refused or replaced', (place) => {
  const allowed = new Set(namesIn(ALLOWED_FUNCTIONS[place]));
  const undecided = [...(known.get(place) ?? [])].filter(
    (name) => [allowed.has(name), REFUSED_FUNCTIONS[place].has(name), isShadowed(name)].filter(Boolean).length !== 1,
  );
  expect(undecided).toEqual([]);
});

test.each(PLACES)('there are no decisions about functions (%s) that do not exist', (place) => {
  const parserOnly = new Set(['unnest', 'grouping', 'grouping_id']);
  const decided = [...namesIn(ALLOWED_FUNCTIONS[place]), ...REFUSED_FUNCTIONS[place].keys()];
  expect(decided.filter((name) => known.get(place)?.has(name) !== true && !parserOnly.has(name))).toEqual([]);
});
