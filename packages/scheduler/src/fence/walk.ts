import { type Dialect, STRUCTURE_WORDS } from './dialect.ts';
import { denied, isName, isSymbol, isWord, type Refusal, type Token, unreadable } from './lexer.ts';

/** A table of a statement. */
export interface TableReference {
  /** As it is spelled, without quotes. */
  readonly name: string;
  /** In UTF-16 code units. */
  readonly start: number;
}

/** One level of parentheses or brackets: what it is, and what it has shown so far. */
export interface Level {
  /** Its end: a closing bracket, or nothing for the whole statement. */
  readonly closing: ')' | ']' | undefined;
  /** True if a FROM can follow as a separator of operands, as in `extract(year FROM day)`. */
  hasOperands: boolean;
  /** Its own CTEs. */
  readonly names: string[];
  /** What must come next, if known. */
  expected: 'query' | 'relation' | undefined;
  /** What a comma at this level separates. */
  list: 'relations' | 'other';
  /** True if a FROM clause can follow. */
  canHaveFrom: boolean;
  /** True if WITH can follow. */
  canHaveWith: boolean;
  /** True if this level has a query: a set operation can follow. */
  isQuery: boolean;
}

/** How a level begins: with a query, with a table after FROM, or with any part of an expression. */
export interface Opening {
  readonly with: 'query' | 'relation' | 'any';
  readonly closing: Level['closing'];
  readonly hasOperands?: boolean;
}

/** The state of a walk over the tokens of a statement. */
export interface Walk {
  readonly tokens: readonly Token[];
  readonly dialect: Dialect;
  readonly tables: TableReference[];
  /** The visible CTEs, by their exact spelling: some engines compare it. How many levels define each. */
  readonly hidden: Map<string, number>;
  /** The index of the next token. */
  at: number;
  depth: number;
  /** Walks over a level and its closing bracket. */
  readonly walkLevel: (opening: Opening) => void;
}

/** Returns the next token, or one at an offset from it. */
export function peek(walk: Walk, offset = 0): Token | undefined {
  return walk.tokens[walk.at + offset];
}

/** Returns the position of the next token, or of the end of the last one. */
export function placeOf(walk: Walk): number {
  const last = walk.tokens.at(-1);
  return peek(walk)?.start ?? (last === undefined ? 0 : last.start + last.text.length);
}

/** Walks over the content of parentheses, whose opening one comes next. */
export function walkParentheses(walk: Walk, opening: Omit<Opening, 'closing'>): void {
  if (!isSymbol(peek(walk), '(')) throw unreadable('A parenthesis is missing.', 'Write ( here.', placeOf(walk));
  walk.at += 1;
  walk.walkLevel({ ...opening, closing: ')' });
}

/** Takes a name, but no word of structure. */
export function takeName(walk: Walk): Token {
  const token = peek(walk);
  if (!isName(token)) throw unreadable('A name is missing.', 'Write a name here.', placeOf(walk));
  if (isStructure(token)) throw misplaced(walk, token);
  walk.dialect.checkName(token, peek(walk, -1), peek(walk, 1));
  walk.at += 1;
  return token;
}

/** Walks over names in parentheses, whose opening one comes next. */
export function walkNames(walk: Walk): void {
  do {
    walk.at += 1;
    takeName(walk);
  } while (isSymbol(peek(walk), ','));
  if (!isSymbol(peek(walk), ')')) {
    throw unreadable('Only names can be listed here.', 'Write (a, b).', placeOf(walk));
  }
  walk.at += 1;
}

/** Defines a CTE, up to the end of the level. */
export function hideTable({ hidden }: Walk, { names }: Level, name: string): void {
  names.push(name);
  hidden.set(name, (hidden.get(name) ?? 0) + 1);
}

/** Ends the definitions of a level. */
export function showTables({ hidden }: Walk, { names }: Level): void {
  for (const name of names) {
    const count = (hidden.get(name) ?? 0) - 1;
    if (count > 0) hidden.set(name, count);
    else hidden.delete(name);
  }
}

/** True if a token is a word of structure. */
export function isStructure(token: Token | undefined): boolean {
  return token?.kind === 'name' && STRUCTURE_WORDS.has(token.word);
}

/** True if a token is the first word of a query. */
export function isQueryStart(walk: Walk, token: Token | undefined): boolean {
  return token?.kind === 'name' && (walk.dialect.queryStarts.has(token.word) || token.word === 'table');
}

/** The refusal of a reserved word where a name could stand. */
export function misplaced(walk: Walk, token: Token): Refusal {
  const quote = walk.dialect.quote(token.text);
  return denied(`${token.text.toUpperCase()} cannot be used here.`, `If it is a name, write ${quote}.`, token.start);
}

/** Functions whose operands FROM separates. */
const OPERAND_FUNCTIONS = new Set(['extract', 'overlay', 'position', 'substr', 'substring', 'trim']);
const SET_OPERATIONS = new Set(['except', 'intersect', 'minus', 'union']);
const SORTING = new Set(['cluster', 'distribute', 'group', 'order', 'sort']);

/** Walks over a token inside a query or an expression. */
export function walkToken(walk: Walk, token: Token, level: Level): void {
  if (isSymbol(token, '(')) {
    walkOpening(walk);
  } else if (isSymbol(token, '[')) {
    walk.at += 1;
    walk.walkLevel({ with: 'any', closing: ']' });
  } else if (token.kind === 'name') {
    walkWord(walk, token, level);
  } else {
    if (token.kind === 'quoted') walk.dialect.checkName(token, peek(walk, -1), peek(walk, 1));
    if (token.kind === 'hint') throw denied('A hint cannot stand here.', 'Write it right after SELECT.', token.start);
    if (isSymbol(token, ',') && level.list === 'relations') level.expected = 'relation';
    walk.at += 1;
  }
}

/** Walks over a parenthesis and its content: of a call, of a word such as IN, or of an expression. */
function walkOpening(walk: Walk): void {
  const before = peek(walk, -1);
  const { dialect } = walk;
  let hasOperands = false;
  if (before?.kind === 'name') {
    const isQualified = isSymbol(peek(walk, -2), '.');
    if (isQualified || !dialect.wordsBeforeParenthesis.has(before.word)) {
      if (isQualified) throw qualifiedCall(before);
      dialect.checkFunction(before);
      hasOperands = OPERAND_FUNCTIONS.has(before.word);
    }
  } else if (before !== undefined && (before.kind !== 'symbol' || [')', ']'].includes(before.text))) {
    const hint = 'Call a function by its plain name. Quote no name of a function.';
    throw denied(`A parenthesis cannot follow ${before.text}.`, hint, placeOf(walk));
  }
  walkParentheses(walk, { with: 'any', hasOperands });
}

function qualifiedCall(name: Token): Refusal {
  const hint = `Write ${name.text}(…), without a catalogue or schema.`;
  return denied(`The function ${name.text} must be called by its plain name.`, hint, name.start);
}

function walkWord(walk: Walk, token: Token, level: Level): void {
  walk.dialect.checkName(token, peek(walk, -1), peek(walk, 1));
  if (isSymbol(peek(walk, -1), '.')) {
    if (isStructure(token)) throw misplaced(walk, token);
    walk.at += 1;
    return;
  }
  switch (token.word) {
    case 'from':
      walkFrom(walk, token, level);
      return;
    case 'join':
      walk.at += 1;
      level.expected = 'relation';
      return;
    case 'select':
    case 'values':
    case 'table':
    case 'into':
    case 'stream':
      throw misplaced(walk, token);
    case 'with':
      if (!isWord(peek(walk, 1), 'rollup') && !isWord(peek(walk, 1), 'cube')) throw misplaced(walk, token);
      break;
    case 'using':
      walk.at += 1;
      if (!isSymbol(peek(walk), '(')) {
        throw denied('USING can only list columns of a join.', 'Write USING (a, b).', token.start);
      }
      walkNames(walk);
      return;
    case 'window':
      if (isNamedWindow(walk)) {
        walkWindows(walk);
        return;
      }
      break;
    case 'in':
      if (walk.dialect.readsTablesAfterIn) checkIn(walk, token);
      break;
    case 'lateral':
      walkLateralView(walk, token);
      return;
    case 'by':
      if (SORTING.has(wordBefore(walk))) level.list = 'other';
      break;
    default:
      if (SET_OPERATIONS.has(token.word)) {
        walkSetOperation(walk, token, level);
        return;
      }
  }
  walk.at += 1;
}

/** Refuses `IN t` and `IN (t)`: some engines read a table there. */
function checkIn(walk: Walk, token: Token): void {
  let end = 2;
  while (isName(peek(walk, end)) && isSymbol(peek(walk, end + 1), '.')) end += 2;
  const isTable = isName(peek(walk, end)) && isSymbol(peek(walk, end + 1), ')');
  if (isSymbol(peek(walk, 1), '(') && !isTable) return;
  throw denied('IN needs a list or a query.', 'Write IN (1, 2) or IN (SELECT …).', token.start);
}

function wordBefore(walk: Walk): string {
  const token = peek(walk, -1);
  return token?.kind === 'name' ? token.word : '';
}

/** Walks over FROM: of a query, of IS DISTINCT FROM, or between operands. */
function walkFrom(walk: Walk, token: Token, level: Level): void {
  walk.at += 1;
  if (isComparison(walk)) return;
  if (level.hasOperands) {
    level.hasOperands = false;
    return;
  }
  if (!level.canHaveFrom) throw misplaced(walk, token);
  level.canHaveFrom = false;
  level.list = 'relations';
  level.expected = 'relation';
}

/** True if the FROM before the next token belongs to `a IS [NOT] DISTINCT FROM b`, with an operand on the left. */
function isComparison(walk: Walk): boolean {
  if (!isWord(peek(walk, -2), 'distinct')) return false;
  const is = isWord(peek(walk, -3), 'not') ? -4 : -3;
  return isWord(peek(walk, is), 'is') && endsOperand(walk, is - 1);
}

/** True if the token at an offset certainly ends an operand. If not, `is` and `distinct` could be names. */
function endsOperand(walk: Walk, offset: number): boolean {
  const token = peek(walk, offset);
  if (isName(token) && isSymbol(peek(walk, offset - 1), '.')) return true;
  if (token?.kind === 'symbol') return [')', ']'].includes(token.text);
  if (token?.kind !== 'name') return token !== undefined && token.kind !== 'hint';
  return ['end', 'false', 'null', 'true'].includes(token.word) || !walk.dialect.keywords.has(token.word);
}

function isNamedWindow(walk: Walk): boolean {
  return isName(peek(walk, 1)) && isWord(peek(walk, 2), 'as') && isSymbol(peek(walk, 3), '(');
}

/** Walks over `WINDOW w AS (…), v AS (…)`. */
function walkWindows(walk: Walk): void {
  do {
    if (!isNamedWindow(walk)) throw unreadable('A window needs a name.', 'Write WINDOW w AS (…).', placeOf(walk));
    walk.at += 1;
    takeName(walk);
    walk.at += 1;
    walkParentheses(walk, { with: 'any' });
  } while (isSymbol(peek(walk), ','));
}

/** Walks over `LATERAL VIEW [OUTER] explode(a) t AS b, c`. */
function walkLateralView(walk: Walk, token: Token): void {
  walk.at += 1;
  if (!isWord(peek(walk), 'view')) throw misplaced(walk, token);
  walk.at += isWord(peek(walk, 1), 'outer') ? 2 : 1;
  const name = takeName(walk);
  if (!isSymbol(peek(walk), '(') || name.kind !== 'name' || !walk.dialect.tableFunctions.has(name.word)) {
    const hint = `Use one of ${[...walk.dialect.tableFunctions].join(', ')}.`;
    throw denied(`LATERAL VIEW cannot use ${name.text}.`, hint, name.start);
  }
  walkParentheses(walk, { with: 'any' });
  if (isName(peek(walk)) && !isStructure(peek(walk))) takeName(walk);
  if (!isWord(peek(walk), 'as')) return;
  do {
    walk.at += 1;
    takeName(walk);
  } while (isSymbol(peek(walk), ','));
}

/** Walks over UNION and its like. `SELECT * EXCEPT (a, b)` is none. */
function walkSetOperation(walk: Walk, token: Token, level: Level): void {
  const isStar = token.word === 'except' && isSymbol(peek(walk, -1), '*') && isSymbol(peek(walk, 1), '(');
  if (isStar && isName(peek(walk, 2)) && !isQueryStart(walk, peek(walk, 2))) {
    walk.at += 1;
    return;
  }
  if (!level.isQuery && !isSymbol(peek(walk, -1), ')')) throw misplaced(walk, token);
  walk.at += 1;
  if (isWord(peek(walk), 'all') || isWord(peek(walk), 'distinct')) walk.at += 1;
  if (isWord(peek(walk), 'by') && isWord(peek(walk, 1), 'name')) walk.at += 2;
  level.canHaveFrom = false;
  level.list = 'other';
  level.expected = 'query';
}
