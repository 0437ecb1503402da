/** A table function: its parameters, and the query that it stands for. */
interface TableFunction {
  readonly parameters: string;
  readonly sql: string;
}

/**
 * The table functions of QuestDB with which its tools list tables and columns, with the names and order of its columns. What
 * frames do not have, such as partitions, is said to be absent.
 *
 * @param frames The table of the frames that the caller may see: `name`, `rows` and `columns`, a list of `name` and `type`.
 */
export function questdbFunctions(frames: string): Readonly<Record<string, TableFunction>> {
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
