/** Finds the values of a JSON text while it arrives. It checks brackets and strings only: `JSON.parse` checks the rest. */
export interface JsonScanner {
  /** Adds the next text, when a method has returned undefined: what came before is scanned. */
  push(text: string): void;
  /** Returns the next character that is not white space; undefined if it has not come. */
  peek(): string | undefined;
  /** Consumes the character that `peek` returned. */
  skip(): void;
  /** Consumes the next value and returns its text; undefined if its end has not come. */
  value(): string | undefined;
  /** The same for an array: returns the texts of its elements. Undefined if the value is not an array. */
  cells(): readonly string[] | 'more' | undefined;
}

/** Where a scanner is. */
interface Place {
  text: string;
  /** Where the value that is being read begins in `text`, and how far it has been scanned. */
  start: number;
  at: number;
  /** The part of that value that came before `text`. */
  held: string;
  /** Its first character: to look for it in `held` would copy all of that text. */
  first: string | undefined;
  depth: number;
  isString: boolean;
  /** Where the elements of the array that is being read begin and end, from its own beginning. */
  edges: number[];
}

/** Creates a scanner. No character is scanned twice, however the text is cut. */
export function createJsonScanner(): JsonScanner {
  const place: Place = { text: '', start: 0, at: 0, held: '', first: '', depth: 0, isString: false, edges: [] };
  return {
    push(more) {
      if (place.held === '') place.first = place.text[place.start];
      place.held += place.text.slice(place.start);
      place.at -= place.text.length;
      place.start = 0;
      place.text = more;
    },
    peek() {
      skipSpace(place);
      return place.held === '' ? place.text[place.start] : place.first;
    },
    skip() {
      place.start += 1;
      place.at = place.start;
    },
    value: () => take(place)?.text,
    cells() {
      const taken = take(place);
      return taken === undefined ? 'more' : cellsOf(taken);
    },
  };
}

function skipSpace(place: Place): void {
  const { text, start, held } = place;
  let { at } = place;
  // A value is being read: what is asked for is its own beginning.
  if (at > start || held !== '') return;
  while (at < text.length && isSpace(text.charCodeAt(at))) at += 1;
  place.start = at;
  place.at = at;
}

function take(place: Place): Taken | undefined {
  skipSpace(place);
  const { text, start, held, edges } = place;
  if (!scan(place)) return undefined;
  const taken = { text: held + text.slice(start, place.at), edges };
  place.held = '';
  place.edges = [];
  place.start = place.at;
  return taken;
}

/** Scans to the end of the value; returns whether it has come. */
function scan(place: Place): boolean {
  const { text, edges, start, held } = place;
  let { at, depth, isString } = place;
  const origin = start - held.length;
  let isEnd = false;
  for (; at < text.length && !isEnd; at += 1) {
    const code = text.charCodeAt(at);
    if (isString) {
      // The character after a backslash may be the first one of the next text.
      if (code === BACKSLASH) at += 1;
      else if (code === QUOTE) {
        isString = false;
        isEnd = depth === 0;
      }
    } else if (code === QUOTE) isString = true;
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      depth += 1;
      if (depth === 1) edges.push(at + 1 - origin);
    } else if (depth > 1) {
      if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) depth -= 1;
    } else if (depth === 1) {
      if (code === COMMA) edges.push(at - origin, at + 1 - origin);
      else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) {
        depth = 0;
        edges.push(at - origin);
        isEnd = true;
      }
    } else if (code === COMMA || code === CLOSE_ARRAY || code === CLOSE_OBJECT || isSpace(code)) {
      // A number or a word ends before it.
      place.at = at;
      return true;
    }
  }
  place.at = at;
  place.depth = depth;
  place.isString = isString;
  return isEnd;
}

/** The text of a value, and where its elements begin and end, if it has some. */
interface Taken {
  readonly text: string;
  readonly edges: readonly number[];
}

function cellsOf({ text, edges }: Taken): readonly string[] | undefined {
  if (!text.startsWith('[') || !text.endsWith(']')) return undefined;
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

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}
