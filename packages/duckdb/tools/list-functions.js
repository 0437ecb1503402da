// Keeps `src/child/sql/generated/allowed-functions.ts`: the functions of the pinned DuckDB that are not in
// `src/child/sql/refused-functions.ts`, nor replaced in `src/child/sql/sql-catalogue.ts`. Run after a new version of DuckDB, once
// the new functions that must not be used by clients are refused there; what this then adds is to be read, name by
// name.
import { writeFileSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import { isShadowed } from '../dist/child/sql/sql-catalogue.js';
import { REFUSED_FUNCTIONS } from '../dist/child/sql/refused-functions.js';

const FILE = new URL('../src/child/sql/generated/allowed-functions.ts', import.meta.url);
const PLACES = { values: ['scalar', 'aggregate', 'macro'], tables: ['table', 'table_macro'] };
// Known to the parser alone.
const ALSO = { values: ['unnest', 'grouping', 'grouping_id'], tables: [] };

const connection = await (await DuckDBInstance.create(':memory:')).connect();

async function allowedIn(place) {
  const types = PLACES[place].map((type) => `'${type}'`).join(', ');
  const result = await connection.run(
    `SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE function_type IN (${types}) ORDER BY 1`,
  );
  const names = (await result.getRows()).map(([name]) => name);
  return [...names, ...ALSO[place]].filter((name) => !REFUSED_FUNCTIONS[place].has(name) && !isShadowed(name));
}

function wrapped(names) {
  const lines = [''];
  for (const name of names) {
    const line = lines.at(-1);
    if (line.length + name.length > 110) lines.push(name);
    else lines[lines.length - 1] = line === '' ? name : `${line} ${name}`;
  }
  return lines.map((line) => `    ${line}`).join('\n');
}

const places = [];
for (const place of Object.keys(PLACES)) {
  places.push(`  ${place}: \`\n${wrapped(await allowedIn(place))}\n  \`,`);
}
writeFileSync(
  FILE,
  `/** The functions that client SQL may use, by position. Written by \`tools/list-functions.js\`. */
export const ALLOWED_FUNCTIONS: Readonly<Record<'values' | 'tables', string>> = {
${places.join('\n')}
};
`,
);
