import { charactersIn } from '@svc/frames/internal';
import type { BoundFrame } from '../driver.ts';
import type { Dialect } from './dialect.ts';
import type { ReadFile } from './read-file-template.ts';

/** The text that an engine gets for a statement. */
export interface BoundSql {
  readonly text: string;
  /** Returns the place in the statement of a place in the text, both in code points; undefined outside of the statement. */
  readonly placeIn: (position: number) => number | undefined;
}

/** How to bind frames. */
export interface BindOptions {
  readonly readFile: ReadFile;
  readonly dialect: Dialect;
}

/** Puts a statement into parentheses, in which no command can stand. */
export function inParentheses(sql: string): BoundSql {
  return boundSql('(\n', sql, '\n)');
}

/** Puts a statement into a query that returns its columns and no rows. */
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

/** Binds frames to the names in a statement, as common table expressions that read their files. */
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

/** Adds tables to those that a statement defines itself, for engines without a WITH inside a WITH. */
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
