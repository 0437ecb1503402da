import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api';
import type { NamedPart, SqlFailure } from '../../wire/requests.ts';
import { isNode, type SqlNode, type TreeNames, walkTree } from './sql-tree.ts';
import { SqlRefusal, type UnknownName } from './sql-refusal.ts';

/** A checked statement: it may be run. */
export interface CheckedSql extends TreeNames {
  /** The statement. The part after EXPLAIN is exactly what was checked. */
  readonly text: string;
  /** How many bytes positions in `text` are before those in the original SQL. */
  readonly shift: number;
}

/** Checks if SQL may be run. */
export interface SqlChecker {
  check(sql: string): Promise<CheckedSql>;
  /** Returns the candidate nearest to an unknown name. */
  nearest(unknown: UnknownName): Promise<string | undefined>;
}

/** The result of parsing SQL. The position of an error is a string. */
type Parsed =
  | { readonly error: false; readonly statements: readonly Readonly<Record<string, unknown>>[] }
  | {
      readonly error: true;
      readonly error_message: string;
      readonly position?: string;
    };

function isParsed(value: unknown): value is Parsed {
  if (!isRecord(value)) return false;
  const { error, statements, error_message: message, position } = value;
  if (error === false) return Array.isArray(statements) && statements.every(isRecord);
  return error === true && typeof message === 'string' && ['string', 'undefined'].includes(typeof position);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** DuckDB's message for valid SQL if it is not a query. */
const NOT_A_QUERY = 'Only SELECT statements can be serialized';
const SERIALIZE = 'SELECT json_serialize_sql($1::VARCHAR, skip_null := true, skip_empty := true, skip_default := true)';
const NEAREST = `SELECT name FROM (SELECT unnest(from_json($2::VARCHAR, '["VARCHAR"]')) AS name)
  WHERE damerau_levenshtein(lower($1::VARCHAR), lower(name)) <= greatest(1, length($1::VARCHAR) // 3)
  ORDER BY damerau_levenshtein(lower($1::VARCHAR), lower(name)), name LIMIT 1`;
/** The cost of a comparison is the product of the lengths; no name is this long. */
const MAX_NAME_LENGTH = 128;
/** The limits of the cache of checked statements: their number, and the length of each. */
const MAX_CHECKED = 64;
const MAX_CHECKED_LENGTH = 16_384;

/** Creates a checker on a separate connection. The connection receives SQL only as a value. */
export async function createSqlChecker(connection: DuckDBConnection): Promise<SqlChecker> {
  const serialize = await connection.prepare(SERIALIZE);

  async function parse(sql: string): Promise<Parsed> {
    const parsed: unknown = JSON.parse((await firstText(serialize, [sql])) ?? '');
    if (!isParsed(parsed)) throw new Error('DuckDB returned a syntax tree of an unknown form.');
    return parsed;
  }

  async function nearest({ name, candidates }: UnknownName): Promise<string | undefined> {
    if (name.length > MAX_NAME_LENGTH) return undefined;
    return firstText(await connection.prepare(NEAREST), [name, JSON.stringify(candidates)]);
  }

  /** Clients repeat statements, and Flight SQL describes each before it runs it. */
  const checked = new Map<string, CheckedSql>();

  function remember(sql: string, result: CheckedSql): CheckedSql {
    if (sql.length > MAX_CHECKED_LENGTH) return result;
    // Last in the order of insertion: the least recently used is the first.
    checked.delete(sql);
    checked.set(sql, result);
    const [oldest] = checked.keys();
    if (checked.size > MAX_CHECKED && oldest !== undefined) checked.delete(oldest);
    return result;
  }

  return {
    async check(sql) {
      try {
        return remember(sql, checked.get(sql) ?? (await checkSql(sql, parse, () => statementCount(connection, sql))));
      } catch (error) {
        if (error instanceof RangeError) throw invalid('The SQL is nested too deeply.');
        if (!(error instanceof SqlRefusal) || error.unknown === undefined) throw error;
        const name = await nearest(error.unknown);
        throw name === undefined ? error : new SqlRefusal({ ...error.failure, hint: `Did you mean ${name}?` });
      }
    },
    nearest,
  };
}

async function firstText(prepared: DuckDBPreparedStatement, values: readonly string[]): Promise<string | undefined> {
  values.forEach((value, i) => prepared.bindVarchar(i + 1, value));
  const [[text] = []] = await (await prepared.run()).getRows();
  return typeof text === 'string' ? text : undefined;
}

async function checkSql(
  sql: string,
  parse: (sql: string) => Promise<Parsed>,
  count: () => Promise<number>,
): Promise<CheckedSql> {
  const parsed = await parse(sql);
  if (!parsed.error) {
    const statement = onlyStatement(parsed);
    const used = columnsUsed(statement);
    return { text: sql, shift: 0, ...walkTree(statement), ...(used && { columnsUsed: used }) };
  }
  if (parsed.error_message.startsWith(NOT_A_QUERY)) {
    const explained = explainedPart(sql);
    const inner = explained && (await parse(explained.rest));
    if (explained !== undefined && inner?.error === false) {
      const { prefix, rest } = explained;
      const shift = byteLength(sql) - byteLength(rest) - prefix.length;
      // Positions in the tree are relative to the part after EXPLAIN.
      const { listsFrames, ...names } = shifted(() => walkTree(onlyStatement(inner)), shift + prefix.length);
      // Only a bare SHOW TABLES is handled without the engine.
      return { text: prefix + rest, shift, ...names, ...(listsFrames && { readsCatalogue: true }) };
    }
    throw await refusalOf(sql, explained?.rest ?? sql, count);
  }
  // Unlike all other positions, those of the parser count characters.
  const characters = Number(parsed.position ?? NaN);
  const position = byteLength(Array.from(sql).slice(0, characters).join(''));
  const refusal = invalid(`${firstLetterUp(parsed.error_message)}.`, Number.isNaN(characters) ? NaN : position);
  if (!parsed.error_message.endsWith('at or near "-"')) throw refusal;
  throw new SqlRefusal({ ...refusal.failure, hint: 'Put a handle with dashes in double quotes.' });
}

function shifted(walk: () => TreeNames, bytes: number): TreeNames {
  try {
    const { tables, columns, ...rest } = walk();
    const moved = (parts: readonly NamedPart[]) => parts.map((part) => ({ ...part, position: part.position + bytes }));
    return { ...rest, tables: moved(tables), ...(columns && { columns: moved(columns) }) };
  } catch (error) {
    if (!(error instanceof SqlRefusal) || error.failure.position === undefined) throw error;
    throw new SqlRefusal({ ...error.failure, position: error.failure.position + bytes }, error.unknown);
  }
}

function onlyStatement({ statements }: Extract<Parsed, { error: false }>): Readonly<Record<string, unknown>> {
  const [statement] = statements;
  if (statement === undefined) throw invalid('There is no SQL.');
  if (statements.length > 1) throw several(statements.length);
  return statement;
}

function invalid(message: string, position = NaN): SqlRefusal {
  const failure: SqlFailure = { code: 'invalid_sql', message };
  return new SqlRefusal(Number.isNaN(position) ? failure : { ...failure, position });
}

function several(count: number): SqlRefusal {
  return new SqlRefusal({
    code: 'invalid_sql',
    message: `Expected one statement, but there are ${count} statements.`,
    hint: 'Send each statement separately.',
  });
}

/** Returns the index of the next word, after whitespace and (nested) comments. */
function nextWord(sql: string, start = 0): number {
  let at = start;
  for (;;) {
    if (/\s/.test(sql.charAt(at))) at += 1;
    else if (sql.startsWith('--', at)) at = indexAfter(sql, '\n', at);
    else if (sql.startsWith('/*', at)) at = afterComment(sql, at);
    else return at;
  }
}

function afterComment(sql: string, start: number): number {
  let depth = 0;
  for (let at = start; at < sql.length;) {
    if (sql.startsWith('/*', at)) depth += 1;
    else if (sql.startsWith('*/', at)) depth -= 1;
    else {
      at += 1;
      continue;
    }
    at += 2;
    if (depth === 0) return at;
  }
  return sql.length;
}

function indexAfter(sql: string, text: string, start: number): number {
  const at = sql.indexOf(text, start);
  return at < 0 ? sql.length : at + text.length;
}

function keywordOf(sql: string): string {
  return (/^[a-z_]+/i.exec(sql.slice(nextWord(sql)))?.[0] ?? '').toUpperCase();
}

const EXPLAIN_OPTIONS = /^(?:analy[sz]e\b|\((?:analyze|format)\b[\w\s,]*\))/i;

/** Returns the part after EXPLAIN, and the EXPLAIN to prepend again. */
function explainedPart(sql: string): { readonly prefix: string; readonly rest: string } | undefined {
  if (keywordOf(sql) !== 'EXPLAIN') return undefined;
  const start = nextWord(sql, nextWord(sql) + 'EXPLAIN'.length);
  const [options = ''] = EXPLAIN_OPTIONS.exec(sql.slice(start)) ?? [];
  return { prefix: `EXPLAIN ${options} `, rest: sql.slice(start + options.length) };
}

/** Returns the error for SQL other than a query. */
async function refusalOf(sql: string, statement: string, count: () => Promise<number>): Promise<SqlRefusal> {
  const statements = await count();
  const keyword = keywordOf(statement);
  if (statements > 1 && /\bpivot\b/i.test(sql) && !/;\s*\S/.test(sql)) {
    return new SqlRefusal({
      code: 'invalid_sql',
      message: 'PIVOT must list the values that become columns.',
      hint: "List them: PIVOT trades ON side IN ('buy', 'sell') USING sum(quantity).",
    });
  }
  if (statements > 1) return several(statements);
  return new SqlRefusal({
    code: 'permission_denied',
    message: `The statement ${keyword} does more than read frames.`,
    hint:
      'Send SELECT, WITH, VALUES, FROM, PIVOT, SHOW TABLES, DESCRIBE, SUMMARIZE or EXPLAIN. To change frames, send PUT, ' +
      'POST, PATCH or DELETE to /frames/{handle}; CREATE TABLE, INSERT, ALTER TABLE and DROP TABLE work with svc query ' +
      'and over Flight SQL.',
  });
}

async function statementCount(connection: DuckDBConnection, sql: string): Promise<number> {
  try {
    return (await connection.extractStatements(sql)).count;
  } catch {
    return 1;
  }
}

function byteLength(text: string): number {
  return Buffer.byteLength(text);
}

function firstLetterUp(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * Returns the names of all columns in the computations of a plain statement, in lower case. A plain statement selects unchanged
 * columns of one frame, with any WHERE, ORDER BY and LIMIT. Undefined for other statements.
 */
function columnsUsed(statement: SqlNode): readonly string[] | undefined {
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

/** Clauses absent or empty in a plain statement. */
const OTHER_CLAUSES = ['cte_map', 'group_expressions', 'group_sets', 'having', 'qualify', 'sample'];
const PLAIN_MODIFIERS: ReadonlySet<unknown> = new Set(['LIMIT_MODIFIER', 'ORDER_MODIFIER']);
/** With one of these, a star is not all columns. */
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

/** Adds the columns whose fields are selected: `s` of `s.field`. Table names are added, too: harmless. */
function addPrefixes(column: unknown, used: Set<string>): void {
  const names = isNode(column) ? column['column_names'] : undefined;
  if (Array.isArray(names)) for (const name of names.slice(0, -1)) used.add(lower(name));
}

function lower(name: unknown): string {
  return typeof name === 'string' ? name.toLowerCase() : '';
}
