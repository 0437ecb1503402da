import stringWidth from 'string-width';

const PLAIN = /^[ -~]*$/;
const NAMED_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Escapes control characters, so that the text stays on one line and has no effect on the terminal. */
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
