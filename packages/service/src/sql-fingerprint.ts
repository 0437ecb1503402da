import type { SqlTarget } from './engines.ts';

/** Longer fingerprints are cut. */
const MAX_LENGTH = 1000;
/** Longer SQL is not read to its end: the start identifies it. */
const MAX_SQL_LENGTH = 20_000;

/**
 * One token, or one run of white space: comments, literals, quoted names, words, numbers. An unterminated quote or comment
 * extends to the end.
 */
const TOKEN =
  /(?<space>\s+|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|(?<dollars>\$(?<tag>[A-Za-z_\u0080-\u{10ffff}][\w\u0080-\u{10ffff}]*)?\$[\s\S]*?(?:\$\k<tag>\$|$))|(?<text>'(?:[^']|'')*(?:'|$))|(?<quoted>"(?:[^"]|"")*(?:"|$)|`(?:[^`]|``)*(?:`|$))|(?<number>(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\w*)|(?<word>[\p{L}_$][\p{L}\p{N}_$]*)|[\s\S]/gu;

/**
 * Returns SQL with `?` for each literal, without comments, and with single spaces, so that statements that differ only in
 * their values have the same fingerprint, and no value is in it. Double quotes enclose names in the SQL of `local`; other
 * dialects may use them for texts. After a text that a backslash may or may not continue, the rest is left out.
 */
export function sqlFingerprint(sql: string, engine: SqlTarget): string {
  let fingerprint = '';
  let hasSpace = false;
  for (const { 0: token, groups = {} } of sql.slice(0, MAX_SQL_LENGTH).matchAll(TOKEN)) {
    if (groups['space'] !== undefined) {
      // Not all dialects end a comment within a comment in the same place, or one of a line at a carriage return.
      if (token.indexOf('/*', 2) > 0 || (token.startsWith('--') && token.includes('\r')))
        return cut(`${fingerprint} …`);
      hasSpace = true;
      continue;
    }
    if (hasSpace && fingerprint !== '') fingerprint += ' ';
    hasSpace = false;
    const isText = groups['text'] ?? groups['dollars'] ?? (engine === 'local' ? undefined : groups['quoted']);
    fingerprint += isText === undefined && groups['number'] === undefined ? token : '?';
    if (mayContinue(token, groups)) return cut(`${fingerprint} …`);
    if (fingerprint.length > MAX_LENGTH) break;
  }
  return cut(fingerprint.replaceAll(LISTS, '(?)').replaceAll(ROWS, '(?)'));
}

/** Lists of values: `(?, ?, ?)`. */
const LISTS = /\(\s*\?(?:\s*,\s*\?)+\s*\)/g;
/** Rows of values: `(?), (?)`. */
const ROWS = /\(\?\)(?:\s*,\s*\(\?\))+/g;

/** True if a backslash precedes the closing quote: in some dialects the text goes on after it. */
function mayContinue(token: string, { text, quoted }: Readonly<Record<string, string | undefined>>): boolean {
  return (text !== undefined || quoted !== undefined) && /\\["'`]/.test(token);
}

function cut(text: string): string {
  return text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH - 1)}…`;
}
