import { invalidResponse } from '../errors/cli-error.ts';
import type { Client } from '../client/client.ts';
import type { Command, Context } from '../args/command.ts';
import { beginsWithDirectory } from '../args/directory-name.ts';
import { withDownloadProgress } from '../output/download-progress.ts';
import { OUTPUT_FORMATS } from '../args/file-formats.ts';
import type { Output } from '../output/output.ts';
import { copyBody, MORE_COLUMNS, printResult } from '../output/print-result.ts';
import { formatCount } from '../text/display-text.ts';
import { serverOptions, TENANT_OPTION } from '../args/client-options.ts';
import { rowsRequest } from '../frames/rows-request.ts';
import { refuseArrowFile, resultOptions, type ResultTarget, resultTarget } from '../args/result-format.ts';
import { withNearestHandle } from '../frames/nearest-handle.ts';
import { withClient } from '../frames/with-client.ts';
import { writeOutput } from '../output/write-output.ts';

const ALL_ROWS = '1,';

/** `svc get`: prints the rows of a frame. */
export const get: Command = {
  kind: 'command',
  name: 'get',
  summary: 'Print the rows of a frame.',
  usage: ['<handle>'],
  takesDirectory: beginsWithDirectory,
  options: {
    limit: { value: '<rows>', summary: 'n, or lo,hi or lo, counted from 1.' },
    cols: { value: '<names>', summary: 'Only these columns, in this order: a,b or "a,b",c.' },
    ...resultOptions(OUTPUT_FORMATS),
    tenant: TENANT_OPTION,
    ...serverOptions(),
  },
  notes: [
    'Without a format: a table of the first 1000 rows, cut to fit a terminal; null is',
    'a missing value (or NaN), "null" a string, control characters are escaped. With',
    'a format: all rows, the bytes of the server unchanged, even on a terminal.',
    'Examples:',
    '  svc get trades --limit 1001,2000 --cols ts,price',
    '  svc get ./data trades -o trades.parquet',
  ],
  async run(args, context) {
    const [handle = ''] = args.positionals;
    const target = resultTarget(args, OUTPUT_FORMATS, context.stdout);
    const isLimited = target.format === 'table' && !target.isWhole;
    const limit = args.text('limit') ?? (isLimited ? undefined : ALL_ROWS);
    const cols = args.text('cols');
    if (args.has('limit') || cols !== undefined) refuseArrowFile(target, 'a part of a frame is an IPC stream');
    const print = (client: Client) => (output: Output) =>
      printRows(client, { handle, limit, cols, target, output, context });
    await withClient(args, context, {}, (client) =>
      withNearestHandle(client, handle, context.signal, () => writeOutput(target.file, context, print(client))),
    );
  },
};

interface Printing {
  readonly handle: string;
  readonly limit: string | undefined;
  readonly cols: string | undefined;
  readonly target: ResultTarget;
  readonly output: Output;
  readonly context: Context;
}

async function printRows(client: Client, { handle, limit, cols, target, output, context }: Printing): Promise<void> {
  const { format } = target;
  const fmt = format === 'table' ? 'json' : format;
  const params = { ...(limit !== undefined && { limit }), ...(cols !== undefined && { cols }) };
  const { isArrowFile } = target;
  const response = await client.send(rowsRequest({ handle, format: fmt, isArrowFile, params }));
  const total = Number(response.headers.get('x-total-count') ?? Number.NaN);
  const { stderr, signal } = context;
  const totalRows = limit === ALL_ROWS && total >= 0 ? total : undefined;
  await withDownloadProgress({ response, format, totalRows, output, stderr, signal }, (body, countRows) => {
    if (fmt !== 'json') return copyBody(body, output);
    return printResult(body, {
      output,
      isJson: format === 'json',
      layout: { ...target, more: MORE_COLUMNS },
      onRows: (_, rows) => countRows(rows.length),
      lastLine: ({ members, rows }) => {
        if (rows === undefined || members['count'] !== rows) throw invalidResponse('its count does not match its rows');
        if (!(total > rows)) return formatCount(rows, 'row');
        const hint = limit === undefined ? ' (--all prints all)' : '';
        return `${rows} of ${formatCount(total, 'row')}${hint}`;
      },
    });
  });
}
