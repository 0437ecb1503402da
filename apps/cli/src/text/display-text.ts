import stringWidth from 'string-width';

const PLAIN = /^[ -~]*$/;
const NAMED_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** The text on one line, with nothing in it that a terminal obeys: control characters are shown escaped. */
export function visibleText(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, '0');
    return NAMED_ESCAPES[character] ?? `\\u${code}`;
  });
}

/** A number of things in words: `1 row`, `2 rows`. */
export function formatCount(count: number, thing: string): string {
  return count === 1 ? `1 ${thing}` : `${count} ${thing}s`;
}

/** How many columns of a terminal a visible text takes. */
export function textWidth(text: string): number {
  return PLAIN.test(text) ? text.length : stringWidth(text);
}

/** The text, cut with `…` where it is wider than so many columns; a character with its marks is never cut apart. */
export function cutText(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  return `${takeWidth(graphemes(text), width - 1).join('')}…`;
}

/** As `cutText`, but keeps the end of the text. */
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
