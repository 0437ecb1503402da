import type { ResultFormat } from '@svc/frames';
import { type Column, createJsonTableReader, isNumericType, shown, stringOf, TableError } from '@svc/client/internal';
import { withDownloadProgress } from './progress.ts';
import { CliError, incompleteResponse, invalidResponse } from '../errors.ts';
import type { Output } from './output.ts';
import { type Cell, cellText, createTablePrinter, type TableColumn, type TablePrinter } from './table-printer.ts';
import { cutText, parseJson, textWidth, visibleText } from '../text.ts';

/** A complete response of `/exec`. */
export interface ReadResult {
  /** All members except the rows, by name. */
  readonly members: Readonly<Record<string, unknown>>;
  /** The number of rows; undefined if it is not a table. */
  readonly rows: number | undefined;
}

/** The format of rows. */
export interface RowsFormat {
  readonly format: ResultFormat | 'table';
  /** A table has one column per line. */
  readonly isExpanded: boolean;
  /** A table has all rows and columns, and whole values. */
  readonly isWhole: boolean;
}

/** How to print rows. */
export interface PrintRowsOptions {
  readonly target: RowsFormat;
  /** How to see the columns left out of a table. Default: with the flags of a command. */
  readonly more?: string | undefined;
  /** The rows to expect; undefined if not known. */
  readonly totalRows?: number | undefined;
  readonly output: Output;
  /** Shows the progress. */
  readonly context: { readonly stderr: Output; readonly signal: AbortSignal };
  /** Called with the rows of a table as they arrive. */
  readonly onRows?: ((columns: readonly TableColumn[], rows: readonly (readonly Cell[])[]) => void) | undefined;
  /** Checks the complete result and returns the line below the table. */
  readonly lastLine: (result: ReadResult) => string;
}

/** Prints the rows of a response. Shows their progress on a terminal if they go to a file. */
export async function printRows(
  response: { readonly headers: Headers; readonly body: AsyncIterable<Uint8Array> },
  options: PrintRowsOptions,
): Promise<void> {
  const { target, totalRows, output, context, onRows } = options;
  const { format } = target;
  const { stderr, signal } = context;
  await withDownloadProgress({ response, format, totalRows, output, stderr, signal }, (body, countRows) => {
    if (format !== 'json' && format !== 'table') return copyBody(body, output);
    return printResult(body, {
      ...options,
      onRows: (columns, rows) => {
        countRows(rows.length);
        onRows?.(columns, rows);
      },
    });
  });
}

/** Prints a response of `/exec` as it arrives. Holds back the last rows until the response is complete and valid. */
async function printResult(
  body: AsyncIterable<Uint8Array>,
  { output, target, more = MORE_COLUMNS, lastLine, onRows }: PrintRowsOptions,
): Promise<void> {
  const isJson = target.format === 'json';
  let members: ReadResult['members'] = {};
  let rows = 0;
  let columns: readonly TableColumn[] | undefined;
  let printer: TablePrinter | undefined;
  for await (const part of readJsonTable(isJson ? copyTo(output, body) : body)) {
    if (part.kind === 'columns') {
      columns = part.columns.map(tableColumn);
      printer = isJson ? undefined : createPrinter(columns, output, target, more);
    } else if (part.kind === 'rows') {
      rows += part.rows.length;
      onRows?.(columns ?? [], part.rows);
      await printer?.add(part.rows);
    } else {
      members = part.members;
    }
  }
  const line = lastLine({ members, rows: columns && rows });
  await printer?.end();
  if (!isJson) await output.write(`${line}\n`);
  else if (output.width !== undefined) await output.write('\n');
}

const MORE_COLUMNS = 'use --expanded, --all or --csv';

function createPrinter(
  columns: readonly TableColumn[],
  output: Output,
  { isExpanded, isWhole }: RowsFormat,
  more: string,
): TablePrinter {
  if (isExpanded) return createExpandedPrinter(columns, output);
  const { isStyled } = output;
  const whole: Output = { width: undefined, isStyled, write: (chunk) => output.write(chunk) };
  return createTablePrinter(columns, isWhole ? whole : output, { more });
}

/** Copies a body to the output, byte for byte. */
export async function copyBody(body: AsyncIterable<Uint8Array>, output: Output): Promise<void> {
  for await (const chunk of body) await output.write(chunk);
}

async function* copyTo(output: Output, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    await output.write(chunk);
    yield chunk;
  }
}

/** Types whose values have no meaning if they are cut. */
const WHOLE = /^(?:BOOLEAN|DATE|TIME|TIMESTAMP|TIMESTAMP_NS|UUID)$/;

function tableColumn({ name, type }: Column): TableColumn {
  return { name, type, isNumeric: isNumericType(type), isWhole: WHOLE.test(type) };
}

const RULE_WIDTH = 40;

/** Creates a printer of rows with one column per line. Values are never cut; a terminal wraps them. */
function createExpandedPrinter(columns: readonly TableColumn[], output: Output): TablePrinter {
  const { width = Number.POSITIVE_INFINITY } = output;
  const names = columns.map(({ name }) => cutText(visibleText(name), Math.max(1, Math.floor(width / 2))));
  const nameWidth = Math.max(0, ...names.map(textWidth));
  const labels = names.map((name) => name + ' '.repeat(nameWidth - textWidth(name) + 2));
  const dim = (text: string): string => (output.isStyled ? `\u001b[2m${text}\u001b[22m` : text);
  let count = 0;
  return {
    async add(rows) {
      for (const row of rows) {
        count += 1;
        const title = `── row ${count} `;
        const rule = title + '─'.repeat(Math.max(0, Math.min(RULE_WIDTH, width) - title.length));
        const lines = labels.map((label, i) => {
          const cell = row[i] ?? null;
          return label + (cell === null ? dim('null') : cellText(cell, undefined));
        });
        await output.write(`${[dim(rule), ...lines].join('\n')}\n`);
      }
    },
    end: async () => {},
  };
}

const NEWLINE = 0x0a;

/** Converts NDJSON to one JSON array, with a row per line. */
export async function* rowsAsJson(lines: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  // The last line break is held back: a comma follows it only if there is another row.
  let open = '[';
  for await (const chunk of lines) {
    if (chunk.length === 0) continue;
    const isLineEnd = chunk.at(-1) === NEWLINE;
    const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length - (isLineEnd ? 1 : 0)).toString('latin1');
    yield Buffer.from(open + text.replaceAll('\n', ',\n'), 'latin1');
    open = isLineEnd ? ',\n' : '';
  }
  yield Buffer.from(open === '[' ? '[]\n' : ']\n');
}

/** A part of a JSON table, in the order of arrival. `members` are all but the rows, by name, at the end. */
export type TablePart =
  | { readonly kind: 'columns'; readonly columns: readonly Column[] }
  | { readonly kind: 'rows'; readonly rows: readonly (readonly Cell[])[] }
  | { readonly kind: 'end'; readonly members: Readonly<Record<string, unknown>> };

/**
 * Parses a response of `/exec` incrementally. Numbers keep their exact digits. An early end is an error, even if the
 * connection closed cleanly.
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
