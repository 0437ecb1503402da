import { invalidAnswer } from '../cli-error.ts';
import { createClient } from '../client.ts';
import type { Command } from '../command.ts';
import { OUTPUT_FORMATS, outputContentType } from '../file-formats.ts';
import { copyAnswer, printAnswer } from '../print-answer.ts';
import { counted } from '../display-text.ts';
import { clientOptions, serverOptions } from '../client-options.ts';
import { resultOptions, resultTarget } from '../result-format.ts';
import { writeOutput } from '../write-output.ts';

const ALL_ROWS = '1,';

/** `svc get`: reads a frame. */
export const get: Command = {
  kind: 'command',
  name: 'get',
  summary: 'Print the rows of a frame.',
  usage: ['<handle>'],
  options: {
    limit: { value: '<rows>', summary: 'n, or lo,hi or lo, counted from 1.' },
    cols: { value: '<names>', summary: 'Only these columns, in this order: a,b or "a,b",c.' },
    ...resultOptions(OUTPUT_FORMATS),
    ...serverOptions(),
  },
  notes: [
    'Without a format: a table of the first 1000 rows, cut to fit a terminal; null is',
    'a missing value, "null" a text, and control characters are escaped. With one:',
    'all rows, the bytes of the server as they are, also on a terminal (as by cat).',
    '',
    'Examples:',
    '  svc get trades --limit 1001,2000 --cols ts,price',
    '  svc get trades --csv | head -5',
    '  svc get trades -o trades.arrows',
  ],
  async run(args, context) {
    const [handle = ''] = args.positionals;
    const { format, file } = resultTarget(args, OUTPUT_FORMATS, context.stdout);
    const isTable = format === 'table';
    const limit = args.text('limit') ?? (isTable ? undefined : ALL_ROWS);
    const cols = args.text('cols');
    const client = createClient(clientOptions(args, context));
    await writeOutput(file, context, async (output) => {
      const isJson = format === 'json';
      const fmt = isTable ? 'json' : format;
      const answer = await client.send({
        method: 'GET',
        path: isTable || isJson ? 'exec' : 'exp',
        params: {
          handle,
          fmt,
          ...(limit !== undefined && { limit }),
          ...(cols !== undefined && { cols }),
        },
        isLong: true,
        expects: { contentType: outputContentType(fmt) },
      });
      if (!isTable && !isJson) return copyAnswer(answer.body, output);
      const total = Number(answer.headers.get('x-total-count') ?? Number.NaN);
      await printAnswer(answer.body, {
        output,
        isJson,
        lastLine: ({ members, rows }) => {
          if (rows === undefined || members['count'] !== rows) throw invalidAnswer('its count is not that of its rows');
          if (!(total > rows)) return counted(rows, 'row');
          return `${rows} of ${counted(total, 'row')}${limit === undefined ? ` (--limit ${ALL_ROWS} prints all)` : ''}`;
        },
      });
    });
  },
};
