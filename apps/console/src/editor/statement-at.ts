import { type SqlToken, sqlTokens } from './sql-tokens.ts';

/** A statement in a text: from its first word to its last, without the semicolon and the comments around it. */
export interface Statement {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

interface Segment {
  /** After the semicolon before it. */
  readonly start: number;
  /** After its own semicolon. */
  readonly end: number;
  readonly statement: Statement | undefined;
}

/**
 * Returns the statement at a place; undefined if the text has none. Between two statements it is the one that ends on the
 * same line, else the next one; after the last it is the last.
 */
export function statementAt(text: string, place: number): Statement | undefined {
  const all = segments(text);
  const index = all.findIndex(({ end }) => place <= end);
  const here = all[index];
  if (here === undefined) return all.findLast(({ statement }) => statement)?.statement;
  const before = all.slice(0, index).findLast(({ statement }) => statement);
  const next = all.slice(index).find(({ statement }) => statement);
  if (next?.statement === undefined) return before?.statement;
  const isOutside = place < next.statement.from;
  const isOnLine = before !== undefined && !text.slice(before.end, place).includes('\n');
  return isOutside && isOnLine ? before.statement : next.statement;
}

/** Returns all statements of a text. */
export function statementsOf(text: string): readonly Statement[] {
  return segments(text).flatMap(({ statement }) => statement ?? []);
}

function segments(text: string): readonly Segment[] {
  const all: Segment[] = [];
  let start = 0;
  let tokens: SqlToken[] = [];
  const close = (end: number): void => {
    all.push({ start, end, statement: statementOf(text, tokens) });
    start = end;
    tokens = [];
  };
  for (const token of sqlTokens(text)) {
    if (token.kind === 'symbol' && text[token.from] === ';') close(token.to);
    else if (token.kind !== 'comment') tokens.push(token);
  }
  close(text.length);
  return all;
}

function statementOf(text: string, tokens: readonly SqlToken[]): Statement | undefined {
  const from = tokens[0]?.from;
  const to = tokens.at(-1)?.to;
  return from === undefined || to === undefined ? undefined : { from, to, text: text.slice(from, to) };
}
