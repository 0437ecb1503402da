/** The full form of a short statement of QuestDB, for the engine. */
export interface FullStatement {
  readonly sql: string;
  /** The difference between a position in `sql` and in the short statement, from `shiftedFrom` on. */
  readonly shift: number;
  readonly shiftedFrom: number;
}

const FROM = 'FROM ';
/** A name, plain or in quotes. QuestDB takes single quotes, too. */
const NAME = String.raw`(?:[a-z_][a-z0-9_]*|"(?:[^"]|"")+"|'(?:[^']|'')+')`;
const TABLE = new RegExp(String.raw`^\s*(${NAME})\s*(?:;\s*)?$`, 'i');
const FUNCTION = /^\s*(?:tables|table_columns|questdb_columns)\s*\(/i;
const ALL_COLUMNS = /^(\s*)information_schema\s*\.\s*(questdb_columns\s*\(.*)$/is;
/** The list of tables without its parentheses, as `qdb-table-names` writes it; other SQL with a frame of that name may quote it. */
const LISTED = /^\s*select\s+(?:\*|[a-z_]+)\s+from\s+tables(?=\s*(?:;|$)|\s+(?:where|order|limit)\s)/i;
const SHOW_COLUMNS = new RegExp(String.raw`^\s*show\s+columns\s+from\s+(${NAME})\s*(?:;\s*)?$`, 'i');

/** Statements of one word: they are not names of frames. */
const WORDS: ReadonlySet<string> = new Set(
  'abort analyze begin checkpoint commit desc describe end reset rollback show start summarize vacuum'.split(' '),
);

/**
 * Returns the full form of the short statements with which QuestDB's tools list and read tables: `tables()`,
 * `select table_name from tables`, `table_columns('t')`, `information_schema.questdb_columns()`, `show columns from t`, and the name of a table alone. Undefined for
 * all other SQL.
 */
export function fullStatement(sql: string): FullStatement | undefined {
  const [, shown] = SHOW_COLUMNS.exec(sql) ?? [];
  if (shown !== undefined) {
    const text = sqlText(unquoted(shown));
    return { sql: `FROM table_columns(${text})`, shift: 0, shiftedFrom: 0 };
  }
  const [listed] = LISTED.exec(sql) ?? [];
  if (listed !== undefined) {
    return { sql: `${listed}()${sql.slice(listed.length)}`, shift: 2, shiftedFrom: listed.length + 2 };
  }
  const [, space = '', call] = ALL_COLUMNS.exec(sql) ?? [];
  if (call !== undefined) return prefixed(sql, space + call);
  const [, table] = TABLE.exec(sql) ?? [];
  const isTable = table !== undefined && !WORDS.has(table.toLowerCase());
  return isTable || FUNCTION.test(sql) ? prefixed(sql, sql) : undefined;
}

/** Returns the statement that reads a table or function, the end of the short statement. */
function prefixed(short: string, source: string): FullStatement {
  const sql = FROM + source;
  return { sql, shift: sql.length - short.length, shiftedFrom: 0 };
}

function unquoted(name: string): string {
  const [quote = ''] = name;
  return quote === '"' || quote === "'" ? name.slice(1, -1).replaceAll(quote + quote, quote) : name;
}

function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
