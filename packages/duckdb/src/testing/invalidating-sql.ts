/** A parsed statement with a function whose only argument is missing. */
const BROKEN_STATEMENT = {
  error: false,
  statements: [
    {
      node: {
        type: 'SELECT_NODE',
        modifiers: [],
        cte_map: { map: [] },
        select_list: [{ class: 'FUNCTION', type: 'FUNCTION', function_name: 'f', children: [null] }],
        from_table: { type: 'EMPTY' },
        group_expressions: [],
        group_sets: [],
        aggregate_handling: 'STANDARD_HANDLING',
      },
    },
  ],
};

/**
 * SQL on which DuckDB fails with an INTERNAL error while it runs, after which it refuses every other statement. The
 * number of rows that it makes keeps DuckDB from working it out before it runs.
 */
export const INVALIDATING_SQL: string = `SELECT json_deserialize_sql('${JSON.stringify(BROKEN_STATEMENT)}' || repeat(' ', range::INT)) FROM range(2)`;
