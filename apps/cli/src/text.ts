import { nearestName } from '@svc/errors';
import stringWidth from 'string-width';

const PLAIN = /^[ -~]*$/;
const NAMED_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Escapes control characters: the text stays on one line and has no effect on the terminal. */
export function visibleText(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, '0');
    return NAMED_ESCAPES[character] ?? `\\u${code}`;
  });
}

export { counted as formatCount } from '@svc/errors/internal';

/** Returns the width of a visible text, in terminal columns. */
export function textWidth(text: string): number {
  return PLAIN.test(text) ? text.length : stringWidth(text);
}

/** Truncates text to a width, with `…` at the end; never splits a grapheme. */
export function cutText(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  return `${takeWidth(graphemes(text), width - 1).join('')}…`;
}

/** Like `cutText`, but keeps the end of the text. */
export function cutTextLeft(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  return `…${takeWidth(graphemes(text).toReversed(), width - 1)
    .toReversed()
    .join('')}`;
}

function graphemes(text: string): readonly string[] {
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
}

function takeWidth(parts: readonly string[], width: number): readonly string[] {
  let left = width;
  const end = parts.findIndex((part) => {
    left -= textWidth(part);
    return left < 0;
  });
  return end < 0 ? parts : parts.slice(0, end);
}

/** Returns a hint with the name closest to a mistyped one, written by `write`; `other` if none is close. */
export function nearestHint(
  typed: string,
  names: readonly string[],
  write: (name: string) => string,
  other: string,
): string {
  const nearest = nearestName(typed, new Map(names.map((name) => [name, name])));
  return nearest === undefined ? other : `Did you mean ${write(nearest)}?`;
}

/** Parses a JSON text; undefined if it is not one. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Quotes a text as one word of a POSIX shell, if it needs quotes. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Words with a meaning in SQL unless they are quoted. */
const RESERVED: ReadonlySet<string> = new Set(
  `all analyse analyze and anti any array as asc asof asymmetric at authorization binary both by case cast check
collate collation column concurrently constraint create cross default deferrable desc describe distinct do else end
except false fetch for foreign freeze from full glob group having ilike in initially inner intersect into is isnull
join lambda lateral leading left like limit natural not notnull null offset on only or order outer overlaps pivot
pivot_longer pivot_wider placing positional primary qualify references returning right select semi show similar
some summarize symmetric table tablesample then to trailing true union unique unpack unpivot using variadic verbose
when where window with`.split(/\s+/),
);

/** Writes a name for SQL, in double quotes if it needs them. */
export function sqlName(name: string): string {
  const isPlain = /^[a-z_]\w*$/i.test(name) && !RESERVED.has(name.toLowerCase());
  return isPlain ? name : `"${name.replaceAll('"', '""')}"`;
}
