import { type Column, isNumericType } from '@svc/client/internal';
import { cutText, textWidth, visibleText } from '../text/display-text.ts';
import { readJsonTable } from './json-table.ts';
import type { Output } from './output.ts';
import { type Cell, cellText, createTablePrinter, type TableColumn, type TablePrinter } from './table-printer.ts';

/** A complete response of `/exec`. */
export interface ReadResult {
  /** All members except the rows, by name. */
  readonly members: Readonly<Record<string, unknown>>;
  /** The number of rows; undefined if it is not a table. */
  readonly rows: number | undefined;
}

/** How a table is printed. */
export interface TableLayout {
  /** One column per line. */
  readonly isExpanded: boolean;
  /** Leaves nothing out, also on a terminal. */
  readonly isWhole: boolean;
  /** How to see the columns that do not fit. */
  readonly more: string;
}

/** How to see the columns that do not fit, on the command line. */
export const MORE_COLUMNS = 'use --expanded, --all or --csv';

/** Options for printing a result. */
export interface PrintResultOptions {
  readonly output: Output;
  /** Copies the bytes instead of printing a table. */
  readonly isJson: boolean;
  readonly layout: TableLayout;
  /** Called with the rows of a table as they arrive. */
  readonly onRows?: (columns: readonly TableColumn[], rows: readonly (readonly Cell[])[]) => void;
  /** Checks the complete result and returns the line below the table. */
  readonly lastLine: (result: ReadResult) => string;
}

/** Prints a response of `/exec` as it arrives. Holds back the last rows until the response is complete and valid. */
export async function printResult(
  body: AsyncIterable<Uint8Array>,
  { output, isJson, layout, lastLine, onRows }: PrintResultOptions,
): Promise<void> {
  let members: ReadResult['members'] = {};
  let rows = 0;
  let columns: readonly TableColumn[] | undefined;
  let printer: TablePrinter | undefined;
  for await (const part of readJsonTable(isJson ? copyTo(output, body) : body)) {
    if (part.kind === 'columns') {
      columns = part.columns.map(tableColumn);
      printer = isJson ? undefined : createPrinter(columns, output, layout);
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

function createPrinter(columns: readonly TableColumn[], output: Output, layout: TableLayout): TablePrinter {
  const { isExpanded, isWhole, more } = layout;
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
