import { quoted } from '@svc/errors/internal';
import type { NamedPart, SqlResponses } from '../../wire/requests.ts';
import { CATALOGUE_TABLES, REFUSED_TABLES } from '../../wire/sql-names.ts';
import { ALLOWED_FUNCTIONS } from './generated/allowed-functions.ts';
import { CATALOGUE_HINT, type FunctionPlace, namesIn, REFUSED_FUNCTIONS } from './refused-functions.ts';
import { isCatalogueFunction } from './sql-catalogue.ts';
import { SqlRefusal } from './sql-refusal.ts';

/** The folded names of CTEs that hide tables, and how many enclosing queries have each. One map for the whole walk. */
type Scope = Map<string, number>;

/** The names in a tree. */
export type TreeNames = SqlResponses['check'];

/** The findings so far. */
interface Found {
  readonly tables: NamedPart[];
  /** By their folded names. */
  readonly columns: Map<string, NamedPart>;
  readsCatalogue: boolean;
}

const ALLOWED: Readonly<Record<FunctionPlace, ReadonlySet<string>>> = {
  values: new Set(namesIn(ALLOWED_FUNCTIONS.values)),
  tables: new Set(namesIn(ALLOWED_FUNCTIONS.tables)),
};

const EXPRESSIONS = new Set(
  namesIn(`BETWEEN CASE CAST COLLATE COLUMN_REF COMPARISON CONJUNCTION CONSTANT DEFAULT FUNCTION LAMBDA LAMBDA_REF
    OPERATOR PARAMETER POSITIONAL_REFERENCE STAR SUBQUERY TYPE WINDOW`),
);
const QUERIES = new Set(namesIn('CTE_NODE RECURSIVE_CTE_NODE SELECT_NODE SET_OPERATION_NODE'));
const SOURCES = new Set(namesIn('BASE_TABLE EMPTY EXPRESSION_LIST JOIN PIVOT SHOW_REF SUBQUERY TABLE_FUNCTION'));
const MODIFIERS = new Set(namesIn('DISTINCT_MODIFIER LIMIT_MODIFIER LIMIT_PERCENT_MODIFIER ORDER_MODIFIER'));
/** The suffix of nodes for the type in a cast. */
const TYPE_INFO = '_TYPE_INFO';
const ORDERS = new Set(namesIn('ASCENDING DESCENDING ORDER_DEFAULT INVALID'));

/** How many frames one statement can name. */
const MAX_TABLES = 256;

/**
 * Walks the tree of a statement. Refuses everything not known to be harmless: functions, kinds of nodes, schemas.
 * Returns each table once, without the CTEs of the statement.
 */
export function walkTree(statement: SqlNode): TreeNames {
  if (isShowTables(statement)) return { tables: [], listsFrames: true };
  const found: Found = { tables: [], columns: new Map(), readsCatalogue: false };
  walk(statement, new Map(), found);
  const distinct = new Map(found.tables.toReversed().map((table) => [folded(table.name), table]));
  if (distinct.size > MAX_TABLES) {
    const message = `The SQL names ${distinct.size} frames, but at most ${MAX_TABLES} are allowed.`;
    throw new SqlRefusal({ code: 'invalid_sql', message, hint: 'Query fewer frames at once.' });
  }
  return {
    tables: [...distinct.values()],
    ...(distinct.size > 1 && { columns: [...found.columns.values()] }),
    ...(found.readsCatalogue && { readsCatalogue: true }),
  };
}

function textOf(node: SqlNode, key: string): string {
  const value = node[key];
  return typeof value === 'string' ? value : '';
}

/** Folds a name as DuckDB compares names: only ASCII letters have a case. The Kelvin sign, for example, is not a k. */
function folded(name: string): string {
  return name.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function positionOf(node: SqlNode): { readonly position?: number } {
  const value = node['query_location'];
  return typeof value === 'number' ? { position: value } : {};
}

function walk(value: unknown, scope: Scope, found: Found): void {
  if (Array.isArray(value)) {
    for (const item of value) walk(item, scope, found);
    return;
  }
  if (!isNode(value)) return;
  const kind = value['class'];
  const type = value['type'];
  if (typeof kind === 'string') {
    if (!EXPRESSIONS.has(kind)) throw unknownPart(kind, value);
    if (kind === 'FUNCTION' || kind === 'WINDOW') checkFunction(value, 'values');
    if (kind === 'COLUMN_REF') addColumn(value, found);
    walkInside(value, scope, found);
  } else if (typeof type === 'string') {
    walkTyped(type, value, scope, found);
  } else {
    walkInside(value, scope, found);
  }
}

function walkInside(node: SqlNode, scope: Scope, found: Found): void {
  for (const value of Object.values(node)) walk(value, scope, found);
}

function walkTyped(type: string, node: SqlNode, scope: Scope, found: Found): void {
  if (QUERIES.has(type)) {
    walkQuery(type, node, scope, found);
  } else if (type === 'BASE_TABLE') {
    addTable(node, scope, found);
    walkInside(node, scope, found);
  } else if (type === 'TABLE_FUNCTION') {
    walkTableFunction(node, scope, found);
  } else if (SOURCES.has(type) || MODIFIERS.has(type) || ORDERS.has(type) || type.endsWith(TYPE_INFO)) {
    if (type === 'SHOW_REF' && !isNode(node['query'])) addList(node, found);
    walkInside(node, scope, found);
  } else {
    throw unknownPart(type, node);
  }
}

/** A CTE is visible to the CTEs after it and to the query itself. */
function walkQuery(type: string, node: SqlNode, scope: Scope, found: Found): void {
  const { cte_map: named, ...rest } = node;
  const names: string[] = [];
  const show = (name: string): void => {
    names.push(name);
    scope.set(name, (scope.get(name) ?? 0) + 1);
  };
  for (const entry of entriesOf(named)) {
    walk(entry['value'], scope, found);
    show(folded(textOf(entry, 'key')));
  }
  // The part of the query that sees its own name.
  const inner = INNER_PARTS[type];
  if (inner === undefined) {
    walkInside(rest, scope, found);
  } else {
    const { [inner]: part, ...others } = rest;
    walkInside(others, scope, found);
    show(folded(textOf(node, 'cte_name')));
    walk(part, scope, found);
  }
  for (const name of names) {
    const count = (scope.get(name) ?? 0) - 1;
    if (count > 0) scope.set(name, count);
    else scope.delete(name);
  }
}

const INNER_PARTS: Readonly<Record<string, string>> = { RECURSIVE_CTE_NODE: 'right', CTE_NODE: 'child' };

function entriesOf(named: unknown): readonly SqlNode[] {
  const map = isNode(named) ? named['map'] : undefined;
  return Array.isArray(map) ? map.filter(isNode) : [];
}

function walkTableFunction(node: SqlNode, scope: Scope, found: Found): void {
  const { function: called, ...rest } = node;
  if (!isNode(called) || called['class'] !== 'FUNCTION') throw unknownPart('TABLE_FUNCTION', node);
  const name = textOf(called, 'function_name');
  if (isCatalogueFunction(folded(name))) addCatalogueFunction(name, called, found);
  else checkFunction(called, 'tables');
  walkInside(called, scope, found);
  walkInside(rest, scope, found);
}

/** Refuses a function unless it is allowed in this position. */
function checkFunction(node: SqlNode, place: FunctionPlace): void {
  const written = textOf(node, 'function_name');
  const name = folded(written);
  if (ALLOWED[place].has(name)) return;
  const other: FunctionPlace = place === 'values' ? 'tables' : 'values';
  const refusal = REFUSED_FUNCTIONS[place].get(name) ?? REFUSED_FUNCTIONS[other].get(name);
  if (refusal !== undefined) {
    throw new SqlRefusal({
      code: 'permission_denied',
      message: `The function ${written} ${refusal.reason}.`,
      hint: refusal.hint,
      ...positionOf(node),
    });
  }
  const isElsewhere = ALLOWED[other].has(name);
  const kind = place === 'values' ? 'function' : 'table function';
  const failure = {
    code: 'invalid_sql',
    message: `There is no ${kind} ${quoted(written)}.`,
    ...positionOf(node),
  } as const;
  if (!isElsewhere) throw new SqlRefusal(failure, { name, candidates: [...ALLOWED[place]] });
  const hint = place === 'values' ? 'Call it after FROM.' : 'Call it in an expression, not after FROM.';
  throw new SqlRefusal({ ...failure, hint });
}

/** Only the unqualified name is the macro over the frames of the caller. */
function addCatalogueFunction(name: string, node: SqlNode, found: Found): void {
  if (textOf(node, 'schema') !== '' || textOf(node, 'catalog') !== '') {
    throw new SqlRefusal({
      code: 'permission_denied',
      message: `The function ${name} must be called without a schema before its name.`,
      hint: `Write ${name}().`,
      ...positionOf(node),
    });
  }
  found.readsCatalogue = true;
}

/** Adds the first part of a name: the column if the name is unqualified. */
function addColumn(node: SqlNode, found: Found): void {
  const names = node['column_names'];
  const name: unknown = Array.isArray(names) ? names[0] : undefined;
  if (typeof name !== 'string' || found.columns.has(folded(name))) return;
  found.columns.set(folded(name), { name, position: positionOf(node).position ?? 0 });
}

/** Adds a table unless it is a CTE. All frames are in one schema, whose name may be given. */
function addTable(node: SqlNode, scope: Scope, found: Found): void {
  const name = textOf(node, 'table_name');
  const schema = folded(textOf(node, 'schema_name'));
  const catalogue = folded(textOf(node, 'catalog_name'));
  const { position = 0 } = positionOf(node);
  if (catalogue === '' && (schema === '' || schema === 'recurring') && scope.has(folded(name))) return;
  const isFrame = (schema === '' || schema === 'main') && (catalogue === '' || catalogue === 'memory');
  if (isFrame) {
    found.tables.push({ name, position });
    return;
  }
  if (catalogue === '' && SHOWN_TABLES.has(`${schema}.${folded(name)}`)) {
    found.readsCatalogue = true;
    return;
  }
  throw unknownTable(node, `${schema}.${folded(name)}`, position);
}

const SHOWN_TABLES = new Set(CATALOGUE_TABLES);
const HIDDEN_TABLES = new Set(REFUSED_TABLES);

function unknownTable(node: SqlNode, name: string, position: number): SqlRefusal {
  const parts = ['catalog_name', 'schema_name', 'table_name'].map((key) => textOf(node, key));
  const written = parts.filter((part) => part !== '').join('.');
  if (HIDDEN_TABLES.has(name)) {
    return new SqlRefusal({
      code: 'permission_denied',
      message: `The table ${quoted(written)} shows more than the frames of the caller.`,
      hint: CATALOGUE_HINT,
      position,
    });
  }
  if (SHOWN_TABLES.has(name)) {
    const message = `The table ${quoted(written)} must be named without a database before its name.`;
    return new SqlRefusal({ code: 'invalid_sql', message, hint: `Write ${name}.`, position });
  }
  return new SqlRefusal({
    code: 'invalid_sql',
    message: `There is no frame ${quoted(written)}: all frames are in the schema main.`,
    hint: `Quote a handle that contains a dot: "${written}".`,
    position,
  });
}

/** True if a statement is just SHOW TABLES. */
function isShowTables(statement: SqlNode): boolean {
  const node = statement['node'];
  const source = isNode(node) ? node['from_table'] : undefined;
  if (!isNode(node) || !isNode(source) || source['type'] !== 'SHOW_REF') return false;
  // With a WHERE or an ORDER BY it would have more parts.
  return source['table_name'] === '"tables"' && [node, source].every((part) => isPartOf(part, PARTS_OF_SHOW));
}

const PARTS_OF_SHOW = new Set(
  namesIn('type select_list from_table aggregate_handling table_name show_type query_location'),
);

function isPartOf(node: SqlNode, keys: ReadonlySet<string>): boolean {
  return Object.keys(node).every((key) => keys.has(key));
}

/** Adds a list that SHOW returns. */
function addList(node: SqlNode, found: Found): void {
  const schema = folded(textOf(node, 'schema_name'));
  const catalogue = folded(textOf(node, 'catalog_name'));
  const isOfFrames = (schema === '' || schema === 'main') && (catalogue === '' || catalogue === 'memory');
  const isKnown = node['show_type'] === 'SHOW_FROM' || SHOWN_LISTS.has(textOf(node, 'table_name'));
  if (!isOfFrames || !isKnown) {
    throw new SqlRefusal({
      code: 'permission_denied',
      message: 'SHOW can list only frames.',
      hint: CATALOGUE_HINT,
    });
  }
  found.readsCatalogue = true;
}

/** The parser's names for SHOW TABLES, SHOW ALL TABLES, SHOW DATABASES and SHOW SCHEMAS. */
const SHOWN_LISTS = new Set(['"tables"', '__show_tables_expanded', '"databases"', '"schemas"']);

function unknownPart(kind: string, node: SqlNode): SqlRefusal {
  return new SqlRefusal({
    code: 'permission_denied',
    message: `The SQL uses a construct that is not supported: ${kind}.`,
    hint: 'Write the SQL without it.',
    ...positionOf(node),
  });
}

/** A node of the syntax tree from `json_serialize_sql`. */
export type SqlNode = Readonly<Record<string, unknown>>;

/** True if a value of the tree is a node, not a list, a text or a number. */
export function isNode(value: unknown): value is SqlNode {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
