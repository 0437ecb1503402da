import type { Cell, CellLook } from './row-source.ts';

/** The grid shows at most this many characters of a value. */
export const MAX_CELL_CHARACTERS = 256;

/** Controls; characters that change the direction or are invisible; separators of lines. */
// oxlint-disable-next-line no-control-regex
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;
const ALL_HIDDEN = new RegExp(HIDDEN, 'g');

/** Returns a text with symbols for the characters that have no look, or that change the look of others. */
export function visibleText(text: string): string {
  return HIDDEN.test(text) ? text.replace(ALL_HIDDEN, symbolOf) : text;
}

/** As `visibleText`, but lines stay lines. */
export function visibleLines(text: string): string {
  return text.split('\n').map(visibleText).join('\n');
}

function symbolOf(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '\u2421' : `\u2039U+${code.toString(16).toUpperCase().padStart(4, '0')}\u203a`;
}

export const NULL_CELL: Cell = { text: 'null', look: 'null' };
const EMPTY_CELL: Cell = { text: '\u2423', look: 'empty' };

/**
 * Returns the cell of a text. `bytes` is the length of the whole value, if the text is only its start or may be longer than
 * a cell.
 */
export function cellOfText(text: string, look: CellLook, bytes?: number): Cell {
  if (text.length <= MAX_CELL_CHARACTERS) {
    return text === '' && look === 'value' ? EMPTY_CELL : { text: visibleText(text), look };
  }
  const cut = visibleText(firstCharacters(text));
  return bytes === undefined ? { text: cut, look: 'cut' } : { text: cut, look: 'cut', bytes };
}

/** The first characters of a text; a pair of surrogates is not divided. */
function firstCharacters(text: string): string {
  const isPair = /[\ud800-\udbff]/.test(text[MAX_CELL_CHARACTERS - 1] ?? '');
  return text.slice(0, MAX_CELL_CHARACTERS - (isPair ? 1 : 0));
}
