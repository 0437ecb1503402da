import { CliError, invalidResponse } from '../errors/cli-error.ts';

/** An incremental JSON scanner. Each method returns undefined if it needs more text first. */
export interface JsonScanner {
  push(text: string): void;
  /** Returns the next character that is not white space, without consuming it. */
  peek(): string | undefined;
  /** The same, and consumes it. */
  takeMark(): string | undefined;
  /** Consumes the next value and returns its text. */
  takeValue(): string | undefined;
}

const MAX_VALUE_CHARACTERS = 64 * 1024 * 1024;

/** Creates a scanner. It finds where values end; the caller validates them. */
export function createJsonScanner(): JsonScanner {
  let text = '';
  let start = 0;
  // How far the value at `start` has been scanned, so that no character of a long value is scanned twice.
  let at = 0;
  let depth = 0;
  let isInString = false;

  function take(end: number): string {
    const value = text.slice(start, end);
    if (value === '') throw invalidResponse(`expected a value, found ${JSON.stringify(text.slice(end, end + 1))}`);
    start = end;
    at = end;
    return value;
  }

  function peek(): string | undefined {
    while (start < text.length && isSpace(text.charCodeAt(start))) start += 1;
    at = Math.max(at, start);
    return text[start];
  }

  return {
    peek,
    push(more) {
      text = text.slice(start) + more;
      at -= start;
      start = 0;
      if (text.length <= MAX_VALUE_CHARACTERS) return;
      throw new CliError('unreachable', 'The response contains a value longer than 64 MiB.', {
        hint: 'Leave out the column with --cols, or use another client.',
      });
    },
    takeMark() {
      const mark = peek();
      if (mark !== undefined) {
        start += 1;
        at = start;
      }
      return mark;
    },
    takeValue() {
      if (peek() === undefined) return undefined;
      while (at < text.length) {
        if (isInString) {
          const quote = text.indexOf('"', at);
          at = quote < 0 ? text.length : quote + 1;
          isInString = quote < 0 || isEscaped(text, quote);
          if (!isInString && depth === 0) return take(at);
          continue;
        }
        const c = text.charCodeAt(at);
        if (c === QUOTE) {
          isInString = true;
        } else if (c === OPEN_ARRAY || c === OPEN_OBJECT) {
          depth += 1;
        } else if (c === CLOSE_ARRAY || c === CLOSE_OBJECT) {
          if (depth === 0) return take(at);
          depth -= 1;
          if (depth === 0) return take(at + 1);
        } else if (depth === 0 && (c === COMMA || isSpace(c))) {
          return take(at);
        }
        at += 1;
      }
      return undefined;
    },
  };
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

function isEscaped(text: string, quote: number): boolean {
  let first = quote;
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (quote - first) % 2 === 1;
}

function isSpace(c: number): boolean {
  return c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09;
}
