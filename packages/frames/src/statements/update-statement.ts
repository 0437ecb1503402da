import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';

/** The engine's only catalog, with the only schema, in which all frames are: `memory.main.trades` is `trades`. */
export const CATALOG = 'memory';
/** The only schema. */
export const SCHEMA = 'main';
/** The type of every table. */
export const TABLE_TYPE = 'TABLE';

/** Throws if a table is in another catalog or schema. */
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

/** A scanner over a statement, which skips whitespace and comments. */
type StatementText = ReturnType<typeof createStatementText>;

/** The most columns a statement names or fills: no frame has more. */
const MAX_COLUMNS = 10_000;

/** Longer definitions of a column are refused: the time to read them grows with their parts. */
const MAX_ITEM_LENGTH = 65_536;

/** The statements that change frames, for hints. */
export const UPDATES_HINT =
  'Change frames with CREATE TABLE, INSERT INTO name VALUES or a query, ALTER TABLE name RENAME TO, or DROP TABLE; run ' +
  'anything else as a query.';

const QUOTES_HINT = 'Put a name that is not a plain SQL name in double quotes: "my-frame".';

const SPACES = /\s+/y;
const QUOTED_NAME = /"(?:[^"]|"")+"/y;
const NAME = /[\p{L}_][\p{L}\p{N}_$]*/uy;
/** The code units at which an item has a part or its end: a pattern takes a tenth of a second for one MiB of them. */
const [QUOTE, DOUBLE_QUOTE, COMMA] = [0x27, 0x22, 0x2c];
const [OPEN, CLOSE, OPEN_BRACKET, CLOSE_BRACKET] = [0x28, 0x29, 0x5b, 0x5d];

function createStatementText(sql: string) {
  let position = 0;
  /** No blanks begin here: a statement may be one long comment, which is read once. */
  let afterBlanks = -1;

  function takeAt(pattern: RegExp): string | undefined {
    pattern.lastIndex = position;
    const [found] = pattern.exec(sql) ?? [];
    position += found?.length ?? 0;
    return found;
  }
  function skipBlanks(): void {
    while (position !== afterBlanks) {
      afterBlanks = position;
      if (sql.startsWith('/*', position)) position = endOf('*/', position + 2) ?? position;
      else if (sql.startsWith('--', position)) position = endOf('\n', position) ?? sql.length;
      else takeAt(SPACES);
    }
  }
  function endOf(mark: string, from: number): number | undefined {
    const at = sql.indexOf(mark, from);
    return at < 0 ? undefined : at + mark.length;
  }
  /** Consumes what a sticky pattern matches here; undefined if it does not. */
  function take(pattern: RegExp): string | undefined {
    skipBlanks();
    return takeAt(pattern);
  }
  function error(what: string, hint = UPDATES_HINT): ServiceError {
    return new ServiceError('invalid_sql', `Cannot read the statement: ${what}, at ${quoted(sql.slice(position))}.`, {
      hint,
      // In code points, not in UTF-16 code units.
      position: blanked(sql.slice(0, position)).length,
    });
  }
  function unclosed(): never {
    throw error('a quote is not closed');
  }
  return {
    take,
    /** Consumes all of these words, in any case, or none. */
    takeWords(...words: readonly string[]): boolean {
      skipBlanks();
      const start = position;
      const isThere = words.every((word) => take(/[A-Za-z]+\b/y)?.toUpperCase() === word);
      if (!isThere) position = start;
      return isThere;
    },
    expect(character: string, where: string): void {
      skipBlanks();
      if (sql[position] !== character) throw error(`${where} is not followed by ${character}`);
      position++;
    },
    /** Consumes a name, in quotes or not. `what` is for the error if there is none. */
    takeName(what: string): string {
      const quotedName = take(QUOTED_NAME);
      if (quotedName !== undefined) return quotedName.slice(1, -1).replaceAll('""', '"');
      const name = take(NAME);
      if (name === undefined) {
        const isThere = take(/(?=[\p{N}'`])/uy) !== undefined;
        throw isThere ? error(`${what} is not in double quotes`, QUOTES_HINT) : error(`${what} is missing`);
      }
      if (take(/(?=-)/y) !== undefined) throw error(`${what} has a dash and is not in double quotes`, QUOTES_HINT);
      return name;
    },
    /**
     * Consumes up to a comma or a closing parenthesis outside of parentheses, brackets and quotes. `outside` is the text
     * with `()` for each of these.
     */
    takeItem(): { readonly text: string; readonly outside: string } {
      skipBlanks();
      const start = position;
      let outside = '';
      /** The end of what `outside` has. */
      let known = position;
      for (let depth = 0; position < sql.length; position++) {
        if (position - start > MAX_ITEM_LENGTH) {
          throw error(`a definition is longer than ${MAX_ITEM_LENGTH} characters`);
        }
        const code = sql.charCodeAt(position);
        const isQuote = code === QUOTE || code === DOUBLE_QUOTE;
        const isOpen = code === OPEN || code === OPEN_BRACKET;
        const isClose = code === CLOSE || code === CLOSE_BRACKET;
        if (depth === 0 && (isClose || code === COMMA)) break;
        if (depth === 0 && (isQuote || isOpen)) {
          // Many of these next to each other are as one.
          if (position > known || outside === '') outside += `${sql.slice(known, position)}()`;
          known = position;
        }
        if (isQuote) position = (endOf(String.fromCharCode(code), position + 1) ?? unclosed()) - 1;
        else if (isOpen) depth++;
        else if (isClose) depth--;
        if (depth === 0 && (isQuote || isClose)) known = position + 1;
      }
      return { text: sql.slice(start, position).trim(), outside: outside + sql.slice(known, position) };
    },
    isAtEnd(): boolean {
      skipBlanks();
      return position === sql.length;
    },
    /** The rest, padded with blanks, so error positions are valid for the whole statement. */
    rest: (): string => blanked(sql.slice(0, position)) + sql.slice(position),
    error,
  };
}

/** Returns a space for each character of a text, and its line breaks. A pattern takes half a second for one MiB. */
function blanked(text: string): string {
  const bytes = Buffer.from(text);
  let length = 0;
  // The bytes of a character after its first begin with the bits 10.
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i];
    if (byte >> 6 !== 2) bytes[length++] = byte === LINE_FEED ? LINE_FEED : SPACE;
  }
  return bytes.toString('latin1', 0, length);
}

const LINE_FEED = 10;
const SPACE = 32;

/** A statement that changes frames, or that clients send around such statements. */
export type UpdateStatement =
  CreateStatement | DropStatement | InsertStatement | RenameStatement | { readonly kind: 'nothing' };

/** `CREATE TABLE`: stores the result of a query, or an empty frame. */
export interface CreateStatement {
  readonly kind: 'create';
  readonly handle: string;
  readonly isReplacing: boolean;
  readonly isOptional: boolean;
  /** The query. If it is a part of the statement, padded with blanks, so error positions are valid for the whole. */
  readonly select: string;
  /** True if the columns are declared, so the query is not a part of the statement. */
  readonly isDeclared: boolean;
}

/** `DROP TABLE`. */
export interface DropStatement {
  readonly kind: 'drop';
  readonly handle: string;
  readonly isOptional: boolean;
}

/** `ALTER TABLE … RENAME TO`, or `RENAME TABLE … TO`. */
export interface RenameStatement {
  readonly kind: 'rename';
  readonly handle: string;
  readonly newHandle: string;
  readonly isOptional: boolean;
}

/** `INSERT INTO`: appends rows. */
export interface InsertStatement {
  readonly kind: 'insert';
  readonly handle: string;
  /** The columns to fill. Default: all. */
  readonly columns?: readonly string[];
  /** The query with the rows, padded with blanks. `VALUES` is one. */
  readonly select: string;
  /** The parameter of each column, counted from 0, if the values are one row of parameters and nothing else. */
  readonly placeholders?: readonly number[];
}

/** A function to await within long work. */
export type Pause = () => Promise<void> | undefined;

const noPause: Pause = () => undefined;

/**
 * Parses a statement that changes frames; undefined for any other, which is a query. Throws `invalid_sql` if the statement
 * starts like one of these but does not parse, and `permission_denied` for `UPDATE`, `DELETE` and other changes of a frame.
 * `pause` lets the event loop turn between columns: a statement can have thousands.
 */
export async function parseUpdate(sql: string, pause: Pause = noPause): Promise<UpdateStatement | undefined> {
  const text = createStatementText(sql);
  if (text.takeWords('CREATE')) return parseCreate(text, pause);
  if (text.takeWords('DROP')) return parseDrop(text);
  if (text.takeWords('ALTER', 'TABLE')) return parseAlter(text);
  if (text.takeWords('RENAME', 'TABLE')) return parseRename(text);
  if (text.takeWords('INSERT')) return parseInsert(text, pause);
  if (NOTHING.test(sql)) return { kind: 'nothing' };
  for (const word of REFUSED) if (text.takeWords(word)) throw notOffered(word, 'rows');
  return undefined;
}

/**
 * True if a statement begins like one `parseUpdate` parses or refuses. Does not throw: another database may have such
 * statements of its own.
 */
export function beginsUpdate(sql: string): boolean {
  const text = createStatementText(sql);
  return NOTHING.test(sql) || BEGINNINGS.some((words) => text.takeWords(...words));
}

const REFUSED = ['UPDATE', 'DELETE', 'MERGE', 'TRUNCATE'];
const BEGINNINGS = [
  ['CREATE', 'TABLE'],
  ['CREATE', 'OR', 'REPLACE', 'TABLE'],
  ['DROP', 'TABLE'],
  ['ALTER', 'TABLE'],
  ['RENAME', 'TABLE'],
  ...['INSERT', ...REFUSED].map((word) => [word]),
];

/** What clients send around other statements. Each statement is committed by itself, and the time zone is UTC. */
const NOTHING =
  /^\s*(?:(?:BEGIN|COMMIT|END|ROLLBACK)(?:\s+(?:TRANSACTION|WORK))?|START\s+TRANSACTION|SET\s+(?:SESSION\s+)?TIME\s?ZONE(?:\s*=\s*|\s+TO\s+|\s*)'(?:Etc\/)?UTC')\s*(?:;\s*)?$/i;

function notOffered(what: string, unchanged: 'columns' | 'rows'): ServiceError {
  return new ServiceError('permission_denied', `${what} is not supported: ${unchanged} of a frame do not change.`, {
    hint: 'Replace the frame: CREATE OR REPLACE TABLE name AS SELECT … FROM name.',
  });
}

async function parseCreate(text: StatementText, pause: Pause): Promise<UpdateStatement | undefined> {
  const isReplacing = text.takeWords('OR', 'REPLACE');
  if (!text.takeWords('TABLE')) return undefined;
  const isOptional = text.takeWords('IF', 'NOT', 'EXISTS');
  const create = { kind: 'create', handle: takeHandle(text), isReplacing, isOptional } as const;
  if (text.takeWords('AS')) return { ...create, select: text.rest(), isDeclared: false };
  if (text.take(/\(/y) === undefined) throw text.error('the name of the table is not followed by AS or (');
  const select = await takeColumns(text, pause);
  takeEnd(text, 'the columns of the table');
  return { ...create, select, isDeclared: true };
}

function parseDrop(text: StatementText): UpdateStatement | undefined {
  if (!text.takeWords('TABLE')) return undefined;
  const isOptional = text.takeWords('IF', 'EXISTS');
  const handle = takeHandle(text);
  takeEnd(text, 'the name of the table');
  return { kind: 'drop', handle, isOptional };
}

function parseAlter(text: StatementText): UpdateStatement {
  const isOptional = text.takeWords('IF', 'EXISTS');
  const handle = takeHandle(text);
  if (!text.takeWords('RENAME', 'TO')) throw notOffered('ALTER TABLE without RENAME TO', 'columns');
  return { kind: 'rename', handle, newHandle: takeNewHandle(text), isOptional };
}

/** The form of QuestDB. */
function parseRename(text: StatementText): UpdateStatement {
  const handle = takeHandle(text);
  if (!text.takeWords('TO')) throw text.error('the name of the table is not followed by TO');
  return { kind: 'rename', handle, newHandle: takeNewHandle(text), isOptional: false };
}

function takeNewHandle(text: StatementText): string {
  const handle = takeHandle(text);
  takeEnd(text, 'the new name of the table');
  return handle;
}

async function parseInsert(text: StatementText, pause: Pause): Promise<UpdateStatement> {
  if (!text.takeWords('INTO')) throw text.error('INSERT is not followed by INTO');
  const handle = takeHandle(text);
  // A parenthesis may also begin a query.
  const columns =
    text.take(/\((?=\s*(?:"|(?!SELECT\b|WITH\b|FROM\b|VALUES\b)[\p{L}_]))/iuy) && (await takeNames(text, pause));
  const insert = { kind: 'insert', handle, ...(columns && { columns }) } as const;
  const select = text.rest();
  if (text.isAtEnd()) throw text.error('VALUES or a query is missing');
  const placeholders = await takePlaceholders(text, pause);
  return { ...insert, select, ...(placeholders && { placeholders }) };
}

async function takeNames(text: StatementText, pause: Pause): Promise<readonly string[]> {
  const names = [text.takeName('the name of a column')];
  while (text.take(/,/y) !== undefined) {
    if (names.length === MAX_COLUMNS) throw text.error(`the list of columns has more than ${MAX_COLUMNS} names`);
    names.push(text.takeName('the name of a column'));
    await pause();
  }
  text.expect(')', 'the list of columns');
  return names;
}

/** Parses `VALUES (?, ?)` to the end of the statement; undefined if there is anything else. */
async function takePlaceholders(text: StatementText, pause: Pause): Promise<readonly number[] | undefined> {
  if (!text.takeWords('VALUES') || text.take(/\(/y) === undefined) return undefined;
  const placeholders: number[] = [];
  do {
    await pause();
    const found = text.take(/\?(?!\d)|\$[1-9]\d{0,4}\b/y);
    if (found === undefined) return undefined;
    if (placeholders.length === MAX_COLUMNS) throw text.error(`a row has more than ${MAX_COLUMNS} values`);
    placeholders.push(found === '?' ? placeholders.length : Number(found.slice(1)) - 1);
  } while (text.take(/,/y) !== undefined);
  if (text.take(/\)/y) === undefined) return undefined;
  text.take(/;/y);
  return text.isAtEnd() ? placeholders : undefined;
}

function takeEnd(text: StatementText, what: string): void {
  text.take(/;/y);
  if (!text.isAtEnd()) throw text.error(`something follows ${what}`);
}

/** Parses the name of a table, optionally qualified by catalog and schema. */
function takeHandle(text: StatementText): string {
  const what = 'the name of the table';
  const names = [text.takeName(what)];
  while (text.take(/\./y) !== undefined) names.push(text.takeName(what));
  const [handle = '', schema, catalog, ...more] = names.toReversed();
  if (more.length > 0) throw text.error('the name of the table has more than three parts');
  checkPlace(catalog, schema);
  return handle;
}

/** Types of other databases JDBC writers declare, by the name in this one. */
const OTHER_TYPES: ReadonlyMap<string, string> = new Map([
  ['BIT(1)', 'BOOLEAN'],
  ['BYTE', 'TINYINT'],
]);
/** Longer definitions are not searched for one of them: a megabyte of blanks takes long. */
const MAX_OTHER_LENGTH = 100;

/** The most characters that all definitions have together: ten thousand of 52 characters. */
const MAX_LENGTH = 524_288;

/** What may follow the type of a column. A frame has no constraints, and nulls are allowed in all of its columns. */
const NULLABILITY = /(?<!\s)\s+(?:NOT\s+)?NULL$/i;
const CONSTRAINTS =
  /(?:^|\s)(?:PRIMARY|FOREIGN|UNIQUE|CHECK|CONSTRAINT|DEFAULT|REFERENCES|GENERATED|COLLATE|AUTO_?INCREMENT|IDENTITY)\b/i;

const CONSTRAINT_NAME = /(?:PRIMARY|CONSTRAINT|UNIQUE)\b/iy;

/**
 * Parses the columns of `CREATE TABLE name (…)`, after the parenthesis, and returns a query with these columns and no rows.
 * `NULL` and `NOT NULL` are accepted and mean nothing; constraints and default values are `invalid_sql`.
 */
async function takeColumns(text: StatementText, pause: Pause): Promise<string> {
  const columns: string[] = [];
  let length = 0;
  do {
    await pause();
    if (text.take(CONSTRAINT_NAME) !== undefined) throw constraint(text);
    const name = text.takeName('the name of a column');
    const item = text.takeItem();
    length += name.length + item.text.length;
    if (length > MAX_LENGTH) throw text.error(`the columns have more than ${MAX_LENGTH} characters`);
    const definition = withoutNullability(item.text);
    if (definition === '') throw text.error(`the type of column ${name} is missing`);
    if (CONSTRAINTS.test(withoutRuns(item.outside))) throw constraint(text);
    const type = otherType(definition) ?? definition;
    if (columns.length === MAX_COLUMNS) throw text.error(`the table has more than ${MAX_COLUMNS} columns`);
    columns.push(`CAST(NULL AS ${type}) AS "${name.replaceAll('"', '""')}"`);
  } while (text.take(/,/y) !== undefined);
  text.expect(')', 'the list of columns');
  return `SELECT ${columns.join(', ')} LIMIT 0`;
}

function withoutNullability(definition: string): string {
  return definition.slice(-4).toUpperCase() === 'NULL' ? definition.replace(NULLABILITY, '') : definition;
}

function otherType(definition: string): string | undefined {
  if (definition.length > MAX_OTHER_LENGTH) return undefined;
  return OTHER_TYPES.get(definition.toUpperCase().replaceAll(/\s/g, ''));
}

/** Runs of blanks become one: each would be searched for a constraint. */
function withoutRuns(text: string): string {
  return text.replaceAll(/\s{2,}/g, ' ');
}

function constraint(text: StatementText): Error {
  return text.error(
    'a frame has no keys, no constraints and no default values',
    'Leave PRIMARY KEY and other constraints out: the server would not enforce them. ORM classes with a primary key can use a frame that exists.',
  );
}
