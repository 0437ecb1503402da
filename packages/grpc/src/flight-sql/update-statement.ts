import { quoted, ServiceError } from '@svc/errors';
import { checkPlace } from './catalogue-names.ts';

/** A statement that changes frames. */
export type UpdateStatement =
  | {
      readonly kind: 'create';
      readonly handle: string;
      readonly isReplacing: boolean;
      readonly isOptional: boolean;
      /** The query, padded with blanks, so that error positions are valid for the whole statement. */
      readonly select: string;
    }
  | { readonly kind: 'drop'; readonly handle: string; readonly isOptional: boolean };

/**
 * Parses `CREATE [OR REPLACE] TABLE [IF NOT EXISTS] name AS query` and `DROP TABLE [IF EXISTS] name`. Returns undefined for
 * any other statement. Throws `invalid_sql` if the statement starts like one of these but does not parse.
 */
export function parseUpdate(sql: string): UpdateStatement | undefined {
  const text = createText(sql);
  if (text.takeWords('CREATE')) return parseCreate(text);
  return text.takeWords('DROP') ? parseDrop(text) : undefined;
}

function parseCreate(text: Text): UpdateStatement | undefined {
  const isReplacing = text.takeWords('OR', 'REPLACE');
  if (!text.takeWords('TABLE')) return undefined;
  const isOptional = text.takeWords('IF', 'NOT', 'EXISTS');
  const handle = takeHandle(text);
  if (!text.takeWords('AS')) throw text.error('the name of the table is not followed by AS');
  return { kind: 'create', handle, isReplacing, isOptional, select: text.rest() };
}

function parseDrop(text: Text): UpdateStatement | undefined {
  if (!text.takeWords('TABLE')) return undefined;
  const isOptional = text.takeWords('IF', 'EXISTS');
  const handle = takeHandle(text);
  text.take(/;/y);
  if (!text.isAtEnd()) throw text.error('something follows the name of the table');
  return { kind: 'drop', handle, isOptional };
}

/** Parses the name of a table, optionally qualified by catalog and schema. */
function takeHandle(text: Text): string {
  const names = [takeName(text)];
  while (text.take(/\./y) !== undefined) names.push(takeName(text));
  const [handle = '', schema, catalog, ...more] = names.toReversed();
  if (more.length > 0) throw text.error('the name of the table has more than three parts');
  checkPlace(catalog, schema);
  return handle;
}

function takeName(text: Text): string {
  const quotedName = text.take(/"(?:[^"]|"")+"/y);
  if (quotedName !== undefined) return quotedName.slice(1, -1).replaceAll('""', '"');
  const name = text.take(/[\p{L}_][\p{L}\p{N}_$]*/uy);
  if (name === undefined) throw text.error('the name of the table is missing');
  return name;
}

/** A scanner over a statement, which skips whitespace and comments. */
interface Text {
  take(pattern: RegExp): string | undefined;
  /** Consumes all of these words, in any case, or none. */
  takeWords(...words: readonly string[]): boolean;
  isAtEnd(): boolean;
  rest(): string;
  error(what: string): ServiceError;
}

function createText(sql: string): Text {
  let position = 0;

  function takeAt(pattern: RegExp): string | undefined {
    pattern.lastIndex = position;
    const [found] = pattern.exec(sql) ?? [];
    position += found?.length ?? 0;
    return found;
  }
  function take(pattern: RegExp): string | undefined {
    takeAt(BLANKS);
    return takeAt(pattern);
  }
  return {
    take,
    takeWords(...words) {
      const start = position;
      const isThere = words.every((word) => take(/[A-Za-z]+\b/y)?.toUpperCase() === word);
      if (!isThere) position = start;
      return isThere;
    },
    isAtEnd() {
      takeAt(BLANKS);
      return position === sql.length;
    },
    rest: () => sql.slice(0, position).replaceAll(/[^\n]/gu, ' ') + sql.slice(position),
    error: (what) =>
      new ServiceError('invalid_sql', `Cannot read the statement: ${what}, at ${quoted(sql.slice(position))}.`, {
        hint: 'Change frames with CREATE [OR REPLACE] TABLE name AS query or DROP TABLE name.',
        // In code points, not in UTF-16 code units.
        position: Array.from(sql.slice(0, position)).length,
      }),
  };
}

const BLANKS = /(?:\s|--[^\n]*|\/\*[\s\S]*?\*\/)*/y;
