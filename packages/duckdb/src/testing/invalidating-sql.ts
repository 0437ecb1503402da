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
 * SQL that fails with an INTERNAL error in DuckDB at run time, after which DuckDB refuses every other statement. Its two
 * rows prevent constant folding.
 */
export const INVALIDATING_SQL: string = `SELECT json_deserialize_sql('${JSON.stringify(BROKEN_STATEMENT)}' || repeat(' ', range::INT)) FROM range(2)`;
