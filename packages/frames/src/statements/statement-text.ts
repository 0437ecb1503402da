import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';

/** A scanner over a statement, which skips whitespace and comments. */
export interface StatementText {
  /** Consumes what a sticky pattern matches here; undefined if it does not. */
  take(pattern: RegExp): string | undefined;
  /** Consumes all of these words, in any case, or none. */
  takeWords(...words: readonly string[]): boolean;
  /** Consumes a character, or throws. */
  expect(character: string, where: string): void;
  /** Consumes a name, in quotes or not. `what` is for the error if there is none. */
  takeName(what: string): string;
  /**
   * Consumes up to a comma or a closing parenthesis outside of parentheses, brackets and quotes. `outside` is the text with
   * `()` for each of these.
   */
  takeItem(): { readonly text: string; readonly outside: string };
  isAtEnd(): boolean;
  /** The rest, padded with blanks, so that error positions are valid for the whole statement. */
  rest(): string;
  error(what: string, hint?: string): ServiceError;
}

/** The most columns that a statement names or fills: no frame has more. */
export const MAX_COLUMNS = 10_000;

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

/** Creates a scanner at the start of a statement. */
export function createStatementText(sql: string): StatementText {
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
    takeWords(...words) {
      skipBlanks();
      const start = position;
      const isThere = words.every((word) => take(/[A-Za-z]+\b/y)?.toUpperCase() === word);
      if (!isThere) position = start;
      return isThere;
    },
    expect(character, where) {
      skipBlanks();
      if (sql[position] !== character) throw error(`${where} is not followed by ${character}`);
      position++;
    },
    takeName(what) {
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
    takeItem() {
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
    isAtEnd() {
      skipBlanks();
      return position === sql.length;
    },
    rest: () => blanked(sql.slice(0, position)) + sql.slice(position),
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
