import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';

/** The engine's only catalog, with the only schema, in which all frames are: `memory.main.trades` is `trades`. */
export const CATALOG = 'memory';
/** The only schema. */
export const SCHEMA = 'main';
/** The type of every table. */
export const TABLE_TYPE = 'TABLE';

/** Throws if a table is in another catalog or schema. */
export function checkPlace(catalog: string | undefined, schema: string | undefined): void {
  const isThere = matches(catalog, CATALOG) && matches(schema, SCHEMA);
  if (isThere) return;
  const place = [catalog, schema].filter((name) => name !== undefined).join('.');
  throw new ServiceError('invalid_argument', `There is no schema ${quoted(place)}.`, {
    hint: `All tables are in ${CATALOG}.${SCHEMA}; leave catalog and schema out.`,
  });
}

function matches(given: string | undefined, name: string): boolean {
  return given === undefined || given === '' || given.toLowerCase() === name;
}
