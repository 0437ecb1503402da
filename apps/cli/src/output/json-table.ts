import { type Column, createJsonTableReader, shown, stringOf, TableError } from '@svc/client/internal';
import { CliError, incompleteResponse, invalidResponse } from '../errors/cli-error.ts';
import { parseJson } from '../text/parse-json.ts';
import type { Cell } from './table-printer.ts';

/** A part of a JSON table, in the order of arrival. `members` are all but the rows, by name, at the end. */
export type TablePart =
  | { readonly kind: 'columns'; readonly columns: readonly Column[] }
  | { readonly kind: 'rows'; readonly rows: readonly (readonly Cell[])[] }
  | { readonly kind: 'end'; readonly members: Readonly<Record<string, unknown>> };

/**
 * Parses a response of `/exec` incrementally. Numbers keep their exact digits. A response that ends early is an error, even
 * if the connection closed cleanly.
 */
export async function* readJsonTable(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<TablePart> {
  const reader = createJsonTableReader();
  let hasColumns = false;
  for await (const chunk of chunks) {
    const rows = checked(() => reader.push(chunk).map((cells) => cells.map(cellOf)));
    if (!hasColumns && reader.columns !== undefined) {
      hasColumns = true;
      yield { kind: 'columns', columns: reader.columns };
    }
    if (rows.length > 0) yield { kind: 'rows', rows };
  }
  if (!reader.isComplete) throw incompleteResponse();
  yield { kind: 'end', members: Object.fromEntries(reader.members) };
}

const SCALAR = /^(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false)$/;

function cellOf(json: string): Cell {
  if (json === 'null') return null;
  const text = stringOf(json);
  if (text !== undefined) return text;
  if (!SCALAR.test(json) && parseJson(json) === undefined) throw new TableError(`${shown(json)} is not JSON`);
  return json;
}

function checked<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof TableError)) throw error;
    if (!error.isTooLong) throw invalidResponse(error.detail);
    throw new CliError('unreachable', 'The response contains a row longer than 128 MiB.', {
      hint: 'Leave out a column with --cols, or use another client.',
    });
  }
}
