import { type CliError, incompleteResponse, invalidResponse } from '../errors/cli-error.ts';
import { createJsonScanner, type JsonScanner } from '../client/json-scanner.ts';
import type { Cell } from './table-printer.ts';

/** A part of a JSON table, in the order of arrival. */
export type TablePart =
  | { readonly kind: 'member'; readonly name: string; readonly value: unknown }
  | { readonly kind: 'rows'; readonly rows: readonly (readonly Cell[])[] };

type Step =
  | { readonly kind: 'more' }
  | { readonly kind: 'row'; readonly row: readonly Cell[] }
  | (TablePart & { readonly kind: 'member' });

const MORE: Step = { kind: 'more' };

/**
 * Parses a response of `/exec` incrementally: the rows of `dataset` as they arrive, other members as a whole. Numbers
 * keep their exact digits. A response that ends early is an error, even if the connection closed cleanly.
 */
export async function* readJsonTable(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<TablePart> {
  const scanner = createJsonScanner();
  const steps = parseTable(scanner);
  const decoder = new TextDecoder();
  for await (const chunk of chunks) {
    scanner.push(decoder.decode(chunk, { stream: true }));
    yield* takeParts(steps);
  }
  if (steps.next().done !== true) throw incompleteResponse();
  if (scanner.peek() !== undefined) throw invalidResponse('there is text after the end of the table');
}

function* takeParts(steps: Iterator<Step, void>): Generator<TablePart> {
  let rows: (readonly Cell[])[] = [];
  for (let next = steps.next(); next.done !== true && next.value.kind !== 'more'; next = steps.next()) {
    if (next.value.kind === 'row') {
      rows.push(next.value.row);
    } else {
      if (rows.length > 0) yield { kind: 'rows', rows };
      rows = [];
      yield next.value;
    }
  }
  if (rows.length > 0) yield { kind: 'rows', rows };
}

function* parseTable(scanner: JsonScanner): Generator<Step, void> {
  yield* expect(scanner, '{');
  let mark = (yield* takeIf(scanner, '}')) ? '}' : ',';
  while (mark === ',') {
    const name = yield* takeValue(scanner);
    if (!name.startsWith('"')) throw invalidResponse(`expected a key, found ${shown(name)}`);
    yield* expect(scanner, ':');
    if (name === '"dataset"') yield* parseRows(scanner);
    else yield { kind: 'member', name: String(parseJson(name)), value: parseJson(yield* takeValue(scanner)) };
    mark = yield* expect(scanner, ',', '}');
  }
}

/** One loop for all rows and values, without a generator for each: this is the hot path of a long table. */
function* parseRows(scanner: JsonScanner): Generator<Step, void> {
  yield* expect(scanner, '[');
  if (yield* takeIf(scanner, ']')) return;
  for (;;) {
    let mark = scanner.takeMark();
    for (; mark === undefined; mark = scanner.takeMark()) yield MORE;
    if (mark !== '[') throw misplaced(mark, '[');
    const row: Cell[] = [];
    mark = scanner.peek();
    for (; mark === undefined; mark = scanner.peek()) yield MORE;
    if (mark === ']') scanner.takeMark();
    while (mark !== ']') {
      let value = scanner.takeValue();
      for (; value === undefined; value = scanner.takeValue()) yield MORE;
      row.push(cellOf(value));
      mark = scanner.takeMark();
      for (; mark === undefined; mark = scanner.takeMark()) yield MORE;
      if (mark !== ',' && mark !== ']') throw misplaced(mark, ',', ']');
    }
    yield { kind: 'row', row };
    mark = scanner.takeMark();
    for (; mark === undefined; mark = scanner.takeMark()) yield MORE;
    if (mark === ']') return;
    if (mark !== ',') throw misplaced(mark, ',', ']');
  }
}

function* peek(scanner: JsonScanner): Generator<Step, string> {
  for (;;) {
    const mark = scanner.peek();
    if (mark !== undefined) return mark;
    yield MORE;
  }
}

function* takeIf(scanner: JsonScanner, mark: string): Generator<Step, boolean> {
  const isThere = (yield* peek(scanner)) === mark;
  if (isThere) scanner.takeMark();
  return isThere;
}

function* takeValue(scanner: JsonScanner): Generator<Step, string> {
  for (;;) {
    const value = scanner.takeValue();
    if (value !== undefined) return value;
    yield MORE;
  }
}

function* expect(scanner: JsonScanner, ...marks: readonly string[]): Generator<Step, string> {
  const mark = yield* peek(scanner);
  if (!marks.includes(mark)) throw misplaced(mark, ...marks);
  scanner.takeMark();
  return mark;
}

function misplaced(mark: string, ...marks: readonly string[]): CliError {
  return invalidResponse(`expected ${marks.map(shown).join(' or ')}, found ${shown(mark)}`);
}

const SCALAR = /^(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false)$/;

function cellOf(value: string): Cell {
  if (value === 'null') return null;
  // Most strings have no escapes and need no parsing.
  if (value.startsWith('"') && !value.includes('\\')) return value.slice(1, -1);
  if (SCALAR.test(value)) return value;
  const parsed = parseJson(value);
  return typeof parsed === 'string' ? parsed : value;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidResponse(`${shown(text)} is not JSON`);
  }
}

function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
