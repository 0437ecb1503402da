import { invalidAnswer } from '../cli-error.ts';
import { createClient } from '../client.ts';
import type { Command } from '../command.ts';
import { countedRows, printAnswer } from '../print-answer.ts';
import { clientOptions, URL_OPTION } from '../client-options.ts';

/** `svc get`: reads a frame. */
export const get: Command = {
  kind: 'command',
  name: 'get',
  summary: 'Print the rows of a frame.',
  usage: ['<handle>'],
  options: {
    limit: {
      value: '<rows>',
      summary: 'n, or lo,hi or lo, counted from 1. Default: 1000.',
    },
    cols: { value: '<names>', summary: 'Only these columns, in this order: a,b.' },
    json: { summary: "Print the server's JSON table as it is." },
    url: URL_OPTION,
  },
  notes: [
    'On a terminal, values that do not fit are cut with …; a file or a pipe gets them',
    'whole. null is a missing value, "null" a text; control characters are escaped.',
    'A column whose name has a comma goes in double quotes inside --cols.',
    '',
    'Examples:',
    '  svc get trades --limit 20',
    '  svc get trades --limit 1001,2000 --cols ts,price',
    '  svc get trades --limit 1, --json > trades.json',
  ],
  async run(args, context) {
    const [handle = ''] = args.positionals;
    const limit = args.text('limit');
    const cols = args.text('cols');
    const isJson = args.has('json');
    const answer = await createClient(clientOptions(args, context)).send({
      method: 'GET',
      path: 'exec',
      params: {
        handle,
        fmt: 'json',
        ...(limit !== undefined && { limit }),
        ...(cols !== undefined && { cols }),
      },
    });
    const total = Number(answer.headers.get('x-total-count') ?? Number.NaN);
    await printAnswer(answer.body, {
      output: context.stdout,
      isJson,
      lastLine: ({ members, rows }) => {
        if (rows === undefined || members['count'] !== rows) throw invalidAnswer('its count is not that of its rows');
        if (!(total > rows)) return countedRows(rows);
        return `${rows} of ${countedRows(total)}${limit === undefined ? ' (--limit 1, prints all)' : ''}`;
      },
    });
  },
};
