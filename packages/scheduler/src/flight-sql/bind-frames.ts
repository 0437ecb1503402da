import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { charactersIn } from '@svc/frames/sql';
import { type BoundFrame, schedulerFailed } from '../driver.ts';

/** The text of a statement for an engine. */
export interface BoundSql {
  readonly text: string;
  /** Returns the place in the statement of a place in the text, both in code points; undefined outside of the statement. */
  readonly placeIn: (position: number) => number | undefined;
}

/** How to bind frames. */
interface BindOptions {
  readonly readFile: ReadFile;
  readonly dialect: Dialect;
}

/** Puts a statement into parentheses: no command can stand in them. */
export function inParentheses(sql: string): BoundSql {
  return boundSql('(\n', sql, '\n)');
}

/** Puts a statement into a query for its columns, without rows. */
export function withoutRows({ text, placeIn }: BoundSql): BoundSql {
  const { text: outer, placeIn: placeInText } = boundSql('SELECT * FROM (\n', text, '\n) AS q LIMIT 0');
  return {
    text: outer,
    placeIn: (position) => {
      const place = placeInText(position);
      return place === undefined ? undefined : placeIn(place);
    },
  };
}

/** Binds frames to the names in a statement, as common table expressions over their files. */
export function bindFrames(sql: string, frames: readonly BoundFrame[], { readFile, dialect }: BindOptions): BoundSql {
  const key = ({ name }: BoundFrame): string => (dialect.isCaseSensitive ? name : name.toLowerCase());
  // A statement may spell one name in several ways.
  const tables = [...new Map(frames.map((frame) => [key(frame), frame])).values()].map(({ name, uris }) => {
    const parts = uris.map((uri) => `SELECT * FROM ${readFile(uri)}`);
    return `${quotedName(name, dialect.quote)} AS (${parts.join(' UNION ALL ')})`;
  });
  if (tables.length === 0) return inParentheses(sql);
  const list = tables.join(', ');
  const start = dialect.isNesting ? undefined : WITH.exec(sql)?.[0];
  return start === undefined ? boundSql(`WITH ${list} (\n`, sql, '\n)') : spliced(sql, start, list);
}

/** The begin of a statement up to its first common table expression. A comment matches in one way, so the time is linear. */
const WITH =
  /^(?:\s|--[^\n]*\n|\/\*(?:(?!\*\/)[\s\S])*\*\/)*WITH\s(?:(?:\s|--[^\n]*\n|\/\*(?:(?!\*\/)[\s\S])*\*\/)*RECURSIVE\s)?/i;

function quotedName(name: string, quote: string): string {
  return `${quote}${name.replaceAll(quote, quote + quote)}${quote}`;
}

function boundSql(before: string, sql: string, after: string): BoundSql {
  const [start, length] = [charactersIn(before), charactersIn(sql)];
  return {
    text: `${before}${sql}${after}`,
    placeIn: (position) => (position >= start && position <= start + length ? position - start : undefined),
  };
}

/** Adds tables to those of the statement, for engines without a WITH inside a WITH. */
function spliced(sql: string, start: string, list: string): BoundSql {
  const head = boundSql('(\n', start, '');
  const rest = boundSql(`(\n${start}${list}, `, sql.slice(start.length), '\n)');
  const startLength = charactersIn(start);
  return {
    text: rest.text,
    placeIn: (position) => {
      const place = rest.placeIn(position);
      return place === undefined ? head.placeIn(position) : place + startLength;
    },
  };
}

/** Returns the table expression for a file, by its URI. */
type ReadFile = (uri: string) => string;

/**
 * Parses a template such as `read_parquet('{uri}')` or `` parquet.`{uri}` ``. `{uri}` stands once, inside of quotes; quotes in
 * a URI are doubled. Another text is `invalid_argument`.
 */
export function parseReadFile(template: string): ReadFile {
  const [before = '', after = '', ...more] = template.split(PLACEHOLDER);
  const quote = openQuote(before);
  if (!template.includes(PLACEHOLDER) || more.length > 0 || quote === undefined || !after.includes(quote)) {
    throw new ServiceError('invalid_argument', `${quoted(template)} does not say how to read a file.`, {
      hint: "Write an expression with '{uri}' in quotes once, for example read_parquet('{uri}') or parquet.`{uri}`.",
    });
  }
  return (uri) => {
    // A backslash escapes in some engines only, so no text would mean the same file for all of them.
    if (uri.includes('\\')) {
      throw schedulerFailed('The location of a file has a backslash, which not every engine can read.', {
        hint: 'Write scheduler.frames_url without backslashes.',
      });
    }
    return `${before}${uri.replaceAll(quote, quote + quote)}${after}`;
  };
}

const PLACEHOLDER = '{uri}';

/** Returns the open quote at the end of a text, if any. */
function openQuote(text: string): string | undefined {
  let open: string | undefined;
  for (const character of text) {
    if (open === undefined && /['"`]/.test(character)) open = character;
    else if (character === open) open = undefined;
  }
  return open;
}

/** How an engine reads names and common table expressions. */
export interface Dialect {
  /** The quote of names. */
  readonly quote: string;
  /** True if a query with common table expressions may stand in the parentheses after WITH. */
  readonly isNesting: boolean;
  /** True if the case of names in quotes counts. */
  readonly isCaseSensitive: boolean;
}

type Form = Omit<Dialect, 'isCaseSensitive'>;

/** Forms, the better ones first. Engines with both quotes give the same answer with each. */
const FORMS: readonly Form[] = [
  { quote: '"', isNesting: true },
  { quote: '`', isNesting: true },
  { quote: '"', isNesting: false },
  { quote: '`', isNesting: false },
];

/**
 * Finds the dialect of an engine by small queries: many do not answer GetSqlInfo, and it does not say which forms of WITH an
 * engine reads. `run` runs a query, and fails with `invalid_sql` if the engine cannot read it.
 */
export async function findDialect(run: (sql: string) => Promise<void>): Promise<Dialect> {
  async function isRead(sql: string): Promise<boolean> {
    try {
      await run(sql);
      return true;
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'invalid_sql') return false;
      throw error;
    }
  }

  for (const form of FORMS) {
    if (await isRead(formProbe(form))) return { ...form, isCaseSensitive: await isRead(caseProbe(form)) };
  }
  throw schedulerFailed('The scheduler reads no form of WITH, which binds frames to their names.', {
    hint: 'Leave out scheduler.read_file, and query the tables of the scheduler under their own names.',
  });
}

function formProbe({ quote, isNesting }: Form): string {
  const table = `${quote}svc-a${quote}`;
  const inner = isNesting ? `WITH svc_b AS (SELECT n FROM ${table}) SELECT n FROM svc_b` : `SELECT n FROM ${table}`;
  return `WITH ${table} AS (SELECT 1 AS n) (\n${inner}\n)`;
}

/** Defines the same name twice, unless its case counts. */
function caseProbe({ quote }: Form): string {
  const [small, large] = [`${quote}svc-a${quote}`, `${quote}SVC-A${quote}`];
  return `WITH ${small} AS (SELECT 1 AS n), ${large} AS (SELECT 2 AS n) (\nSELECT n FROM ${small}\n)`;
}
