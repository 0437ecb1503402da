import type { ColumnInfo } from '../api/types.ts';

/** The sheet shows at most this many characters of a text, and this many bytes in hex. */
export const MAX_SHEET_CHARACTERS = 1_000_000;
const MAX_HEX_BYTES = 64 * 1024;

/** Returns a JSON text with a line for each member; undefined if it is not an object or an array. No digit changes. */
export function indentedJson(text: string): string | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  let result = '';
  let depth = 0;
  const newLine = (): string => `\n${'  '.repeat(depth)}`;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g)) {
    if (token === '[' || token === '{') {
      depth += 1;
      result += token + newLine();
    } else if (token === ']' || token === '}') {
      depth -= 1;
      result = `${result.trimEnd()}${/[[{]\s*$/.test(result) ? '' : newLine()}${token}`;
    } else if (token === ',') {
      result += token + newLine();
    } else {
      result += token === ':' ? ': ' : token;
    }
  }
  return result;
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
