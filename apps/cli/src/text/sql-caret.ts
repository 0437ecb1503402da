import { cutText, cutTextLeft, textWidth, visibleText } from './display-text.ts';

const INDENT = '  ';

/** Returns the line of the SQL at the position and a caret below it; nothing if the position is outside the SQL. */
export function sqlCaret(sql: string, position: number, width: number): readonly string[] {
  if (!Number.isSafeInteger(position) || position < 0 || position > sql.length || sql.trim() === '') return [];
  const start = sql.lastIndexOf('\n', position - 1) + 1;
  const end = sql.indexOf('\n', position);
  const available = Math.max(width - INDENT.length, 20);
  const before = cutTextLeft(visibleText(sql.slice(start, position)), Math.floor(available / 2));
  const after = cutText(visibleText(sql.slice(position, end < 0 ? undefined : end)), available - textWidth(before));
  return [`${INDENT}${before}${after}`, `${INDENT}${' '.repeat(textWidth(before))}^`];
}
