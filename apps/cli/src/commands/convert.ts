import { stat } from 'node:fs/promises';
import type { ResultFormat } from '@svc/frames';
import type { Arguments, Command } from '../args/command.ts';
import { formatOfName, OUTPUT_FORMATS, refuseTerminal } from '../args/formats.ts';
import { CSV_OPTIONS, csvParams, givenFormat } from '../args/input-options.ts';
import { DASH } from '../args/source.ts';
import { framePath } from '../client/requests.ts';
import { CliError } from '../errors.ts';
import { rowsRequest, sendFile } from '../frames/frame-requests.ts';
import { withPrivateClient } from '../frames/with-client.ts';
import { writeOutput } from '../output/output.ts';
import { copyBody, rowsAsJson } from '../output/print-result.ts';
import { nearestHint } from '../text.ts';

const HANDLE = 'frame';

/** `svc convert`: writes a file in another format. */
export const convert: Command = {
  kind: 'command',
  name: 'convert',
  summary: 'Write a file in another format; needs no server.',
  usage: ['<file|->', '<new|->'],
  options: {
    from: { value: '<format>', summary: 'The format of the file. Default: by its extension.' },
    to: { value: '<format>', summary: 'The format of the new one. Default: by its extension.' },
    force: { short: 'f', summary: 'Replace the new file if it exists.' },
    ...CSV_OPTIONS,
  },
  notes: [
    'svc help formats lists the formats; json is an array of rows. Types of CSV and',
    'JSON are detected as by svc put; - is standard input or output.',
    'The new file appears under its name only when it is complete.',
    '',
    'Examples:',
    '  svc convert trades.csv trades.parquet',
    '  svc convert trades.parquet - --to ndjson | head',
  ],
  async run(args, context) {
    const [from = '', to = ''] = args.positionals;
    const { format: fmt, contentEncoding, delimiter } = givenFormat(args, 'from', from);
    const params = {
      fmt,
      ...(fmt === 'csv' && delimiter !== undefined && { delimiter }),
      ...csvParams(args, fmt),
    };
    const headers = contentEncoding === undefined ? {} : { 'content-encoding': contentEncoding };
    const { format, isArrowFile } = targetFormat(args, to);
    const file = to === DASH ? undefined : to;
    if (file === undefined) refuseTerminal(format, context.stdout);
    else if (!args.has('force')) await refuseExisting(file);
    await withPrivateClient(args, context, (client) =>
      writeOutput(file, context, async (output) => {
        await sendFile(client, { method: 'PUT', path: framePath(HANDLE), params, headers }, from, context);
        // The JSON table is the format of /exec only; svc and other programs can read a file of rows.
        const sent = format === 'json' ? 'ndjson' : format;
        const response = await client.send(rowsRequest(HANDLE, { format: sent, isArrowFile }));
        await copyBody(format === 'json' ? rowsAsJson(response.body) : response.body, output);
      }),
    );
  },
};

function targetFormat(args: Arguments, file: string): ReturnType<typeof formatOfName> {
  const given = args.text('to');
  if (given === undefined) return formatOfName(file, OUTPUT_FORMATS, flagOf);
  const format = OUTPUT_FORMATS.find((name) => name === given);
  if (format !== undefined) return { format, isArrowFile: false };
  throw new CliError('usage', `--to ${JSON.stringify(given)} is not an output format.`, {
    hint: nearestHint(
      given,
      OUTPUT_FORMATS,
      (name) => `--to ${name}`,
      `Use ${OUTPUT_FORMATS.map(flagOf).join(' or ')}.`,
    ),
  });
}

function flagOf(format: ResultFormat): string {
  return `--to ${format}`;
}

async function refuseExisting(file: string): Promise<void> {
  const there = await stat(file).catch(() => undefined);
  // A device or a pipe is written to and not replaced.
  if (there === undefined || !(there.isFile() || there.isDirectory())) return;
  throw new CliError('usage', `${JSON.stringify(file)} already exists.`, {
    hint: there.isDirectory() ? 'Name a file.' : 'Choose another name, or replace it with --force.',
  });
}
