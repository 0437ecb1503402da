import { ServiceError } from '@svc/errors';
import { checkPlace } from './catalogue-names.ts';
import { createStatementText, MAX_COLUMNS, type StatementText } from './statement-text.ts';

/** A statement that changes frames, or that clients send around such statements. */
export type UpdateStatement =
  CreateStatement | DropStatement | InsertStatement | RenameStatement | { readonly kind: 'nothing' };

/** `CREATE TABLE`: stores the result of a query, or an empty frame. */
export interface CreateStatement {
  readonly kind: 'create';
  readonly handle: string;
  readonly isReplacing: boolean;
  readonly isOptional: boolean;
  /** The query. If it is a part of the statement, padded with blanks, so that error positions are valid for the whole. */
  readonly select: string;
  /** Whether the columns are declared, so that the query is not a part of the statement. */
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

/**
 * Parses a statement that changes frames; undefined for any other, which is a query. Throws `invalid_sql` if the statement
 * starts like one of these but does not parse, and `permission_denied` for `UPDATE`, `DELETE` and other changes of a frame.
 */
export function parseUpdate(sql: string): UpdateStatement | undefined {
  const text = createStatementText(sql);
  if (text.takeWords('CREATE')) return parseCreate(text);
  if (text.takeWords('DROP')) return parseDrop(text);
  if (text.takeWords('ALTER', 'TABLE')) return parseAlter(text);
  if (text.takeWords('RENAME', 'TABLE')) return parseRename(text);
  if (text.takeWords('INSERT')) return parseInsert(text);
  if (NOTHING.test(sql)) return { kind: 'nothing' };
  for (const word of REFUSED) if (text.takeWords(word)) throw notOffered(word, 'rows');
  return undefined;
}

/**
 * Whether a statement begins like one that `parseUpdate` parses or refuses. Does not throw: another database may have such
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

function parseCreate(text: StatementText): UpdateStatement | undefined {
  const isReplacing = text.takeWords('OR', 'REPLACE');
  if (!text.takeWords('TABLE')) return undefined;
  const isOptional = text.takeWords('IF', 'NOT', 'EXISTS');
  const create = { kind: 'create', handle: takeHandle(text), isReplacing, isOptional } as const;
  if (text.takeWords('AS')) return { ...create, select: text.rest(), isDeclared: false };
  if (text.take(/\(/y) === undefined) throw text.error('the name of the table is not followed by AS or (');
  const select = takeColumns(text);
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

function parseInsert(text: StatementText): UpdateStatement {
  if (!text.takeWords('INTO')) throw text.error('INSERT is not followed by INTO');
  const handle = takeHandle(text);
  // A parenthesis may also begin a query.
  const columns = text.take(/\((?=\s*(?:"|(?!SELECT\b|WITH\b|FROM\b|VALUES\b)[\p{L}_]))/iuy) && takeNames(text);
  const insert = { kind: 'insert', handle, ...(columns && { columns }) } as const;
  const select = text.rest();
  if (text.isAtEnd()) throw text.error('VALUES or a query is missing');
  const placeholders = takePlaceholders(text);
  return { ...insert, select, ...(placeholders && { placeholders }) };
}

function takeNames(text: StatementText): readonly string[] {
  const names = [text.takeName('the name of a column')];
  while (text.take(/,/y) !== undefined) {
    if (names.length === MAX_COLUMNS) throw text.error(`the list of columns has more than ${MAX_COLUMNS} names`);
    names.push(text.takeName('the name of a column'));
  }
  text.expect(')', 'the list of columns');
  return names;
}

/** Parses `VALUES (?, ?)` to the end of the statement; undefined if there is anything else. */
function takePlaceholders(text: StatementText): readonly number[] | undefined {
  if (!text.takeWords('VALUES') || text.take(/\(/y) === undefined) return undefined;
  const placeholders: number[] = [];
  do {
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

/** Types of other databases that JDBC writers declare, by the name in this one. */
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
function takeColumns(text: StatementText): string {
  const columns: string[] = [];
  let length = 0;
  do {
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
