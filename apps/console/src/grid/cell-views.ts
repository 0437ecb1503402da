import type { ColumnInfo } from '../api/types.ts';

/** The sheet shows at most this many characters of a text, and this many bytes in hex. */
export const MAX_SHEET_CHARACTERS = 1_000_000;
const MAX_HEX_BYTES = 64 * 1024;

/** Deeper members are not indented further: spaces would be most of the text. */
const MAX_INDENT = 50;

/**
 * Returns a JSON text with a line for each member; undefined if it is not an object or an array. No digit changes. It ends
 * where the sheet does.
 */
export function indentedJson(text: string): string | undefined {
  if (!/^\s*[[{]/.test(text) || !isJson(text)) return undefined;
  let result = '';
  let depth = 0;
  let isEmpty = false;
  const newLine = (): string => `\n${'  '.repeat(Math.min(depth, MAX_INDENT))}`;
  for (const token of jsonTokens(text)) {
    if (result.length > MAX_SHEET_CHARACTERS) break;
    const isEnd = token === ']' || token === '}';
    if (isEnd) depth -= 1;
    // What has no members stays on its line.
    if (isEnd !== isEmpty) result += newLine();
    isEmpty = token === '[' || token === '{';
    if (isEmpty) depth += 1;
    result += token === ':' ? ': ' : token;
    if (token === ',') result += newLine();
  }
  return result;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns the signs, strings and other values of a valid JSON text. */
function* jsonTokens(text: string): Generator<string> {
  const value = /[^\s[\]{},:"]+/y;
  for (let at = 0; at < text.length;) {
    const sign = text[at] ?? '';
    value.lastIndex = at;
    const token = sign === '"' ? text.slice(at, stringEnd(text, at)) : (value.exec(text)?.[0] ?? sign);
    at += token.length;
    if (token.trim() !== '') yield token;
  }
}

/** Returns where the string that begins at a place ends. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x5c) at += 1;
    else if (code === 0x22) return at + 1;
  }
  return text.length;
}

/** Returns the bytes of a value in hex, 16 a line: a binary value is base64, a text UTF-8. */
export function hexText(text: string, { type }: ColumnInfo): string {
  const bytes = type === 'BINARY' ? bytesFromBase64(text) : new TextEncoder().encode(text.slice(0, MAX_HEX_BYTES));
  const lines: string[] = [];
  for (let at = 0; at < Math.min(bytes.length, MAX_HEX_BYTES); at += 16) {
    const line = bytes.subarray(at, at + 16);
    const hex = Array.from(line, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const plain = Array.from(line, (byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '.')).join('');
    lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(47)}  ${plain}`);
  }
  return lines.join('\n');
}

function bytesFromBase64(text: string): Uint8Array {
  const start = text.slice(0, Math.ceil(MAX_HEX_BYTES / 3) * 4);
  return Uint8Array.from(atob(start), (character) => character.charCodeAt(0));
}
