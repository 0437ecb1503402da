import { cutText, textWidth, visibleText } from '../text/display-text.ts';
import type { Output } from './output.ts';
import { cellText, type TableColumn, type TablePrinter } from './table-printer.ts';

const RULE_WIDTH = 40;

/** Creates a printer of rows with one column per line. Values are never cut; a terminal wraps them. */
export function createExpandedPrinter(columns: readonly TableColumn[], output: Output): TablePrinter {
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
