import { isNode, type SqlNode } from './sql-node.ts';

/**
 * Returns the names of all columns that a plain statement computes with, in lower case. A plain statement selects unchanged
 * columns of one frame, with any WHERE, ORDER BY and LIMIT. Undefined for other statements.
 */
export function columnsUsed(statement: SqlNode): readonly string[] | undefined {
  const { node } = statement;
  if (!isNode(node) || node['type'] !== 'SELECT_NODE' || !isNode(node['from_table'])) return undefined;
  const { select_list: selected, from_table: from, where_clause: where, modifiers } = node;
  if (node['aggregate_handling'] !== 'STANDARD_HANDLING' || from['type'] !== 'BASE_TABLE') return undefined;
  if (!Array.isArray(selected) || !selected.every(isPlain)) return undefined;
  if ([...OTHER_CLAUSES.map((clause) => node[clause]), from['sample'], from['column_name_alias']].some(isThere)) {
    return undefined;
  }
  const clauses: readonly unknown[] = Array.isArray(modifiers) ? modifiers : [];
  if (!clauses.every((clause) => isNode(clause) && PLAIN_MODIFIERS.has(clause['type']))) return undefined;
  const used = new Set<string>();
  if (![where, ...clauses].every((part) => collect(part, used))) return undefined;
  for (const column of selected) addPrefixes(column, used);
  // ORDER BY may name the alias of a column.
  for (const column of selected) {
    if (isNode(column) && used.has(lower(column['alias']))) collect(column, used);
  }
  return [...used];
}

/** Clauses that are absent or empty in a plain statement. */
const OTHER_CLAUSES = ['cte_map', 'group_expressions', 'group_sets', 'having', 'qualify', 'sample'];
const PLAIN_MODIFIERS: ReadonlySet<unknown> = new Set(['LIMIT_MODIFIER', 'ORDER_MODIFIER']);
/** Modifiers that make a star something other than all columns. */
const STAR_PARTS = ['exclude_list', 'replace_list', 'qualified_exclude_list', 'rename_list', 'expr'];

function isThere(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return isNode(value) ? Object.keys(value).length > 0 : value !== null && value !== undefined;
}

function isPlain(column: unknown): boolean {
  if (!isNode(column)) return false;
  if (column['class'] === 'COLUMN_REF') return true;
  return column['class'] === 'STAR' && column['columns'] !== true && !STAR_PARTS.some((part) => isThere(column[part]));
}

/** Adds the column names in a part of a statement; returns false if it refers to columns without naming them. */
function collect(value: unknown, used: Set<string>): boolean {
  if (Array.isArray(value)) return value.every((item) => collect(item, used));
  if (!isNode(value)) return true;
  if (value['class'] === 'STAR' || value['class'] === 'POSITIONAL_REFERENCE') return false;
  const { column_names: names, orders } = value;
  // ORDER BY may refer to a column by number.
  const isNumbered = (order: unknown): boolean =>
    isNode(order) && isNode(order['expression']) && order['expression']['class'] !== 'COLUMN_REF';
  if (Array.isArray(orders) && orders.some(isNumbered)) return false;
  if (Array.isArray(names)) for (const name of names) used.add(lower(name));
  return Object.values(value).every((part) => collect(part, used));
}

/** Adds the columns whose fields are selected: `s` of `s.field`. Table names are added, too, which is harmless. */
function addPrefixes(column: unknown, used: Set<string>): void {
  const names = isNode(column) ? column['column_names'] : undefined;
  if (Array.isArray(names)) for (const name of names.slice(0, -1)) used.add(lower(name));
}

function lower(name: unknown): string {
  return typeof name === 'string' ? name.toLowerCase() : '';
}
