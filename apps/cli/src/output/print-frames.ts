import type { FrameInfo, ListedFrame } from '../client/server-responses.ts';
import type { Output } from './output.ts';
import { createTablePrinter } from './table-printer.ts';
import { formatCount, visibleText } from '../text.ts';

const LIST_COLUMNS = ['handle', 'rows', 'bytes', 'columns', 'created', 'expires', 'version'].map((name) => ({
  name,
  isNumeric: ['rows', 'bytes', 'columns'].includes(name),
  isWhole: true,
}));
const FRAME_COLUMNS = ['column', 'type', 'nullable'].map((name) => ({ name, isNumeric: false }));
/** The rows and columns of a file before its first read. */
const UNKNOWN = '?';
const MORE = { more: 'use svc list --json' };
const MORE_OF_ONE = { more: 'use svc describe --json' };

/** Prints frames as a table; returns how many there were. */
export async function printFrameList(pages: AsyncIterable<readonly ListedFrame[]>, output: Output): Promise<number> {
  const printer = createTablePrinter(LIST_COLUMNS, output, MORE);
  let count = 0;
  let unknown = 0;
  for await (const page of pages) {
    await printer.add(
      page.map(({ handle, rows, bytes, columns, created, expires, version }) => [
        handle,
        String(rows ?? UNKNOWN),
        String(bytes),
        String(columns?.length ?? UNKNOWN),
        created,
        expires ?? 'never',
        version,
      ]),
    );
    count += page.length;
    unknown += page.filter(({ rows }) => rows === null).length;
  }
  await printer.end();
  const note = unknown === 0 ? '' : `; ${UNKNOWN}: the server has not read ${formatCount(unknown, 'file')} yet`;
  await output.write(`${formatCount(count, 'frame')}${note}\n`);
  return count;
}

/** Prints the metadata and the columns of a frame. */
export async function printFrame(frame: FrameInfo, stdout: Output): Promise<void> {
  const { columns, rows, bytes, expires, created, version, tier, handle: name } = frame;
  const facts = { handle: name, rows, bytes, created, expires: expires ?? 'never', version, tier };
  const lines = Object.entries(facts).map(([key, value]) => `${key.padEnd(9)}${visibleText(String(value))}\n`);
  await stdout.write(`${lines.join('')}\n`);
  const printer = createTablePrinter(FRAME_COLUMNS, stdout, MORE_OF_ONE);
  await printer.add(columns.map((column) => [column.name, column.type, column.nullable ? 'yes' : 'no']));
  await printer.end();
  await stdout.write(`${formatCount(columns.length, 'column')}\n`);
}
