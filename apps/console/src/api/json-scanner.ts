/** Finds the values of a JSON text while it arrives. It checks brackets and strings only: `JSON.parse` checks the rest. */
export interface JsonScanner {
  add(text: string): void;
  /** Returns the next character that is not a space; undefined if it has not come. */
  peek(): string | undefined;
  /** Steps over the character that `peek` returned. */
  skip(): void;
  /** Takes the text of the next value; undefined if its end has not come. */
  value(): string | undefined;
  /** Takes the next value, which must be an array, and returns the texts of its elements; undefined if its end has not come. */
  cells(): string[] | undefined;
}

/** Creates a scanner. */
export function createJsonScanner(): JsonScanner {
  let text = '';
  /** The start of the value that is being read, and how far it has been scanned. */
  let start = 0;
  let at = 0;
  let depth = 0;
  let isString = false;
  /** Where the elements of the array that is being read begin and end. */
  let edges: number[] = [];

  /** Scans to the end of the value at `start`, and returns it; undefined if it has not come. */
  function scan(): number | undefined {
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (isString) {
        if (code === BACKSLASH) at++;
        else if (code === QUOTE) {
          isString = false;
          if (depth === 0) return at + 1;
        }
      } else if (code === QUOTE) isString = true;
      else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
        if (depth++ === 0) edges.push(at + 1);
      } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) {
        // A number or a word ends where the array or object around it does.
        if (depth === 0) return at;
        if (--depth === 0) {
          edges.push(at);
          return at + 1;
        }
      } else if (code === COMMA) {
        if (depth === 0) return at;
        if (depth === 1) edges.push(at, at + 1);
      }
    }
    return undefined;
  }

  /** Scans the next value; returns where it is, or undefined if its end has not come. */
  function take(): Taken | undefined {
    if (at === start) {
      at = afterSpace(text, at);
      start = at;
    }
    const end = scan();
    if (end === undefined) return undefined;
    const taken = { text: text.slice(start, end), edges: edges.map((edge) => edge - start) };
    start = end;
    at = end;
    edges = [];
    return taken;
  }

  return {
    add(more) {
      text = text.slice(start) + more;
      edges = edges.map((edge) => edge - start);
      at -= start;
      start = 0;
    },
    peek() {
      // A value is being read: what is asked for is its first character.
      if (at > start) return text[start];
      at = afterSpace(text, at);
      start = at;
      return text[at];
    },
    skip() {
      start = ++at;
    },
    value() {
      return take()?.text.trimEnd();
    },
    cells() {
      const taken = take();
      return taken && cellsOf(taken);
    },
  };
}

/** The text of a value, and where its elements begin and end, if it has some. */
interface Taken {
  readonly text: string;
  readonly edges: readonly number[];
}

function cellsOf({ text, edges }: Taken): string[] {
  if (!text.startsWith('[')) return [];
  const cells: string[] = [];
  for (let i = 0; i < edges.length; i += 2) cells.push(text.slice(edges[i], edges[i + 1]).trim());
  return cells.length === 1 && cells[0] === '' ? [] : cells;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

function afterSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && isSpace(text.charCodeAt(at))) at++;
  return at;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}
