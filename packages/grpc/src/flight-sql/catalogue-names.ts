import { quoted, ServiceError } from '@svc/errors';

/** What the engine calls the one catalogue and the one schema that hold all frames: `memory.main.trades` is `trades`. */
export const CATALOG = 'memory';
/** The one schema. */
export const SCHEMA = 'main';
/** The type of every table. */
export const TABLE_TYPE = 'TABLE';

/** Fails where a table is said to be elsewhere. */
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
