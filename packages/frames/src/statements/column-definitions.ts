import { MAX_COLUMNS, type StatementText } from './statement-text.ts';

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
export function takeColumns(text: StatementText): string {
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
