import type { DuckDBConnection } from '@duckdb/node-api';
import { sqlName, sqlText } from '../../wire/sql-names.ts';
import type { CatalogueFrame } from '../../wire/requests.ts';

/** Shows frames as the only tables in the catalogue of tables and columns. */
export type ShowCatalogue = (frames: readonly CatalogueFrame[]) => Promise<void>;

/** A schema with an empty view for each frame, with its columns. Client SQL cannot name it. */
const SHAPES = ' shapes';
/** A table of the frames: their names, row counts, and the names and types of their columns as clients see them. */
const FRAMES = ' frames';
const QUESTDB = questdbFunctions(`main.${sqlName(FRAMES)}`);

/**
 * All lists of tables and columns in DuckDB (information_schema, pg_catalog, SHOW) call these functions by their
 * unqualified names. Macros with the same names shadow them.
 */
const SHADOWS: Readonly<Record<string, string>> = {
  duckdb_tables: `SELECT * FROM system.main.duckdb_tables() WHERE false UNION ALL BY NAME
    SELECT database_name, database_oid, 'main' AS schema_name, ${mainOid()} AS schema_oid, view_name AS table_name,
      view_oid AS table_oid, tags, false AS internal, false AS temporary, false AS has_primary_key,
      rows AS estimated_size, column_count, 0 AS index_count, 0 AS check_constraint_count
    FROM system.main.duckdb_views() JOIN main.${sqlName(FRAMES)} ON name = view_name
    WHERE schema_name = ${sqlText(SHAPES)}`,
  duckdb_columns: `SELECT * REPLACE ('main' AS schema_name, ${mainOid()} AS schema_oid)
    FROM system.main.duckdb_columns() WHERE schema_name = ${sqlText(SHAPES)}`,
  duckdb_databases: "SELECT * FROM system.main.duckdb_databases() WHERE database_name = 'memory'",
  duckdb_schemas: "SELECT * FROM system.main.duckdb_schemas() WHERE database_name = 'memory' AND schema_name = 'main'",
  duckdb_functions: 'SELECT * FROM system.main.duckdb_functions() WHERE internal',
  duckdb_constraints: nothingOf('duckdb_constraints'),
  duckdb_dependencies: nothingOf('duckdb_dependencies'),
  duckdb_indexes: nothingOf('duckdb_indexes'),
  duckdb_sequences: nothingOf('duckdb_sequences'),
  duckdb_views: nothingOf('duckdb_views'),
};

function mainOid(): string {
  return "(SELECT oid FROM system.main.duckdb_schemas() WHERE database_name = 'memory' AND schema_name = 'main')";
}

function nothingOf(name: string): string {
  return `SELECT * FROM system.main.${name}() WHERE false`;
}

/** True if a function of DuckDB, by its folded name, is one of these. */
export function isShadowed(name: string): boolean {
  return Object.hasOwn(SHADOWS, name);
}

/** True if a table function, by its folded name, shows frames: those of DuckDB above, and those of QuestDB. */
export function isCatalogueFunction(name: string): boolean {
  return isShadowed(name) || Object.hasOwn(QUESTDB, name);
}

/** The JSON from which the table of the frames is made. */
const SHOWN = '[{"name": "VARCHAR", "rows": "BIGINT", "columns": [{"name": "VARCHAR", "type": "VARCHAR"}]}]';

/** How many views are created in one call. */
const BATCH_VIEWS = 500;

/** Creates an empty catalogue. */
export function createSqlCatalogue(connection: DuckDBConnection): ShowCatalogue {
  const known = new Map<string, string>();
  let isSetUp = false;

  async function setUp(): Promise<void> {
    if (isSetUp) return;
    await connection.run(`CREATE SCHEMA IF NOT EXISTS ${sqlName(SHAPES)}`);
    await fillFrames([]);
    for (const [name, sql] of Object.entries(SHADOWS)) {
      await connection.run(`CREATE OR REPLACE MACRO main.${name}() AS TABLE ${sql}`);
    }
    for (const [name, { parameters, sql }] of Object.entries(QUESTDB)) {
      await connection.run(`CREATE OR REPLACE MACRO main.${name}(${parameters}) AS TABLE ${sql}`);
    }
    isSetUp = true;
  }

  async function fillFrames(frames: readonly CatalogueFrame[]): Promise<void> {
    const shown = frames.map(({ name, rows, columns }) => ({
      name,
      rows,
      columns: columns.map((column) => ({ name: column.name, type: column.type })),
    }));
    await connection.run(
      `CREATE OR REPLACE TABLE main.${sqlName(FRAMES)} AS SELECT unnest(from_json($1::VARCHAR, ${sqlText(SHOWN)}), max_depth := 2)`,
      [JSON.stringify(shown)],
    );
  }

  return async (frames) => {
    await setUp();
    const wanted = new Map(frames.map((frame) => [frame.name, shapeSql(frame)]));
    const gone = [...known.keys()].filter((name) => !wanted.has(name));
    const changed = [...wanted].filter(([name, sql]) => known.get(name) !== sql);
    const statements = [
      ...gone.map((name) => `DROP VIEW IF EXISTS ${shapeName(name)}`),
      ...changed.map(([name, sql]) => `CREATE OR REPLACE VIEW ${shapeName(name)} AS ${sql}`),
    ];
    // Forget them first: after an interruption, their state is unknown.
    for (const name of [...gone, ...changed.map(([one]) => one)]) known.delete(name);
    for (let at = 0; at < statements.length; at += BATCH_VIEWS) {
      await connection.run(statements.slice(at, at + BATCH_VIEWS).join('; '));
    }
    for (const [name, sql] of changed) known.set(name, sql);
    await fillFrames(frames);
  };
}

function shapeName(name: string): string {
  return `${sqlName(SHAPES)}.${sqlName(name)}`;
}

function shapeSql({ columns }: CatalogueFrame): string {
  return `SELECT ${columns.map(({ name, sqlType }) => `CAST(NULL AS ${sqlType}) AS ${sqlName(name)}`).join(', ')}`;
}

/** A table function: its parameters, and its query. */
interface TableFunction {
  readonly parameters: string;
  readonly sql: string;
}

/**
 * The table functions used by QuestDB's tools to list tables and columns, with the names and order of QuestDB's columns.
 * What frames do not have, such as partitions, is said to be absent.
 *
 * @param frames The table of the caller's frames: `name`, `rows` and `columns`, a list of `name` and `type`.
 */
function questdbFunctions(frames: string): Readonly<Record<string, TableFunction>> {
  return {
    tables: {
      parameters: '',
      sql: `SELECT (row_number() OVER (ORDER BY name))::INTEGER AS id, name AS table_name,
          NULL::VARCHAR AS "designatedTimestamp", 'NONE' AS "partitionBy", false AS "walEnabled", false AS dedup,
          0 AS "ttlValue", 'HOUR' AS "ttlUnit", false AS "matView", name AS "directoryName",
          NULL::INTEGER AS "maxUncommittedRows", NULL::BIGINT AS "o3MaxLag", false AS table_suspended, 'T' AS table_type,
          rows AS table_row_count
        FROM ${frames} ORDER BY name`,
    },
    table_columns: {
      parameters: 'frame',
      sql: `SELECT one.name AS "column", one.type AS type, false AS indexed, 0 AS "indexBlockCapacity",
          false AS "symbolCached", 0 AS "symbolCapacity", 0 AS "symbolTableSize", false AS designated,
          false AS "upsertKey"
        FROM (
          SELECT unnest(coalesce(
            (SELECT columns FROM ${frames} WHERE lower(name) = lower(frame)),
            error('There is no frame "' || frame || '".')
          )) AS one
        )`,
    },
    questdb_columns: {
      parameters: '',
      sql: `SELECT 'memory' AS table_catalog, 'main' AS table_schema, frame AS table_name, one.name AS column_name,
          (place - 1)::INTEGER AS ordinal_position, NULL::VARCHAR AS column_default, 'yes' AS is_nullable,
          one.type AS data_type
        FROM (
          SELECT name AS frame, unnest(columns) AS one, unnest(range(1, len(columns) + 1)) AS place FROM ${frames}
        ) ORDER BY frame, place`,
    },
  };
}
