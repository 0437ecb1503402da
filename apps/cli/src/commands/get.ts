import { serverOptions, TENANT_OPTION } from '../args/client-options.ts';
import { beginsWithDirectory, type Command, type Context } from '../args/command.ts';
import { OUTPUT_FORMATS, refuseArrowFile, resultOptions, resultTarget, type ResultTarget } from '../args/formats.ts';
import type { Client } from '../client/client.ts';
import { invalidResponse } from '../errors.ts';
import { rowsRequest, withNearestHandle } from '../frames/frame-requests.ts';
import { withClient } from '../frames/with-client.ts';
import { type Output, writeOutput } from '../output/output.ts';
import { printRows } from '../output/print-result.ts';
import { formatCount } from '../text.ts';

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
      printFrameRows(client, handle, target, { limit, cols }, output, context);
    await withClient(args, context, {}, (client) =>
      withNearestHandle(client, handle, context.signal, () => writeOutput(target.file, context, print(client))),
    );
  },
};

async function printFrameRows(
  client: Client,
  handle: string,
  target: ResultTarget,
  { limit, cols }: { readonly limit: string | undefined; readonly cols: string | undefined },
  output: Output,
  context: Context,
): Promise<void> {
  const { isArrowFile } = target;
  const format = target.format === 'table' ? 'json' : target.format;
  const params = { ...(limit !== undefined && { limit }), ...(cols !== undefined && { cols }) };
  const response = await client.send(rowsRequest(handle, { format, isArrowFile }, params));
  const total = Number(response.headers.get('x-total-count') ?? Number.NaN);
  await printRows(response, {
    target,
    totalRows: limit === ALL_ROWS && total >= 0 ? total : undefined,
    output,
    context,
    lastLine: ({ members, rows }) => {
      if (rows === undefined || members['count'] !== rows) throw invalidResponse('its count does not match its rows');
      if (!(total > rows)) return formatCount(rows, 'row');
      const hint = limit === undefined ? ' (--all prints all)' : '';
      return `${rows} of ${formatCount(total, 'row')}${hint}`;
    },
  });
}
