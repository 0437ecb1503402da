import type { EngineName } from '../api/types.ts';
import { sqlTokens } from './sql-tokens.ts';
import type { Statement } from './statement-at.ts';

/** A part of the editor's text. */
export interface TextRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns what to mark for an error at `position` of a statement, in the whole text. Engines count characters; the
 * time-series database counts UTF-16 units, as the editor does.
 */
export function errorPlace(statement: Statement, position: number, engine: EngineName): TextRange {
  const { text, from: start } = statement;
  const offset = Math.min(engine === 'tsdb' ? position : unitsOf(text, position), text.length);
  const token = sqlTokens(text).find(({ to }) => offset < to);
  // An error at the end, such as a missing bracket, marks the last token.
  if (token === undefined) {
    const last = sqlTokens(text).at(-1);
    return { from: start + (last?.from ?? 0), to: start + text.length };
  }
  const from = Math.max(token.from, Math.min(offset, token.to - 1));
  return {
    from: start + (token.kind === 'string' || token.kind === 'quoted' ? token.from : from),
    to: start + token.to,
  };
}

/** Returns the number of UTF-16 units of the first characters of a text. */
function unitsOf(text: string, characters: number): number {
  let units = 0;
  let left = characters;
  for (const character of text) {
    if (left-- <= 0) break;
    units += character.length;
  }
  return units;
}
