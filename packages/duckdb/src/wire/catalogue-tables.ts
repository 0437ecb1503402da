/** Refused: these tables show the configuration of the engine. */
export const REFUSED_TABLES: readonly string[] = inSchema('pg_catalog', 'pg_prepared_statements pg_settings');

/** Allowed: these tables read only the shadowed catalogue functions, or hold no user data. */
export const CATALOGUE_TABLES: readonly string[] = [
  ...inSchema(
    'information_schema',
    `character_sets check_constraints columns constraint_column_usage constraint_table_usage key_column_usage
      referential_constraints schemata table_constraints tables views`,
  ),
  ...inSchema(
    'pg_catalog',
    `pg_am pg_attrdef pg_attribute pg_class pg_collation pg_constraint pg_database pg_depend pg_description pg_enum
      pg_index pg_indexes pg_namespace pg_proc pg_sequence pg_sequences pg_tables pg_tablespace pg_type pg_views`,
  ),
];

function inSchema(schema: string, names: string): string[] {
  return names
    .trim()
    .split(/\s+/)
    .map((name) => `${schema}.${name}`);
}
