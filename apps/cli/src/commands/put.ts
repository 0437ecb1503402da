import type { Arguments } from '../arguments.ts';
import { CliError } from '../cli-error.ts';
import { createClient, readAnswer } from '../client.ts';
import type { Command } from '../command.ts';
import { describeInputFormats, INPUT_FORMATS, inputFormat, isInputFormat } from '../file-formats.ts';
import { framePath } from '../frame-path.ts';
import { counted } from '../display-text.ts';
import { clientOptions, MAX_TIMEOUT_SECONDS, serverOptions } from '../client-options.ts';
import { startProgress } from '../progress.ts';
import { NEW_FRAME } from '../server-answers.ts';
import { openSource } from '../source.ts';

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** `svc put`: makes a frame of a file. */
export const put: Command = {
  kind: 'command',
  name: 'put',
  summary: 'Put a file under a handle, replacing the frame.',
  usage: ['<handle>', '<file|->'],
  options: {
    fmt: { value: '<format>', summary: 'The format. Default: by the extension of the file.' },
    ttl: { value: '<seconds>', summary: 'Let the frame end by itself. Default: never.' },
    'if-new': { summary: 'Only where the handle is free.' },
    ...serverOptions(MAX_TIMEOUT_SECONDS),
  },
  notes: [
    'The formats, and the extensions that tell them:',
    ...describeInputFormats(),
    '',
    '- reads the standard input. A broken upload changes nothing.',
    '',
    'Examples:',
    '  svc put today trades.arrow --ttl 86400 --if-new',
    '  echo \'[{"id": 1}]\' | svc put demo - --fmt json',
  ],
  async run(args, context) {
    const [handle = '', file = ''] = args.positionals;
    const path = framePath(handle);
    const fmt = formatOf(args, file);
    const ttl = ttlOf(args);
    const client = createClient(clientOptions(args, context, MAX_TIMEOUT_SECONDS));
    const source = await openSource(file, context.stdin);
    const progress = startProgress({ output: context.stderr, totalBytes: source.bytes, signal: context.signal });
    try {
      const answer = await client.send({
        method: 'PUT',
        path,
        params: { fmt, ...(ttl !== undefined && { ttl }) },
        headers: {
          ...(source.bytes !== undefined && { 'content-length': String(source.bytes) }),
          ...(args.has('if-new') && { 'if-none-match': '*' }),
        },
        body: progress.track(source.chunks),
        isAction: true,
        expects: { statuses: [200, 201] },
      });
      const { rows, version } = await readAnswer(answer, NEW_FRAME, MAX_ANSWER_BYTES);
      progress.end();
      const what = answer.status === 201 ? 'new' : 'replaced';
      await context.stdout.write(`${handle}: ${counted(rows, 'row')}, version ${version} (${what})\n`);
    } finally {
      progress.end();
      await source.close();
    }
  },
};

function formatOf(args: Arguments, file: string): string {
  const given = args.text('fmt');
  const fmt = given ?? inputFormat(file);
  if (fmt !== undefined && isInputFormat(fmt)) return fmt;
  const hint = `Say --fmt ${INPUT_FORMATS.join(' or --fmt ')}: these can be put.`;
  throw given === undefined
    ? new CliError('usage', `The name ${JSON.stringify(file)} does not tell the format.`, { hint })
    : new CliError('usage', `--fmt ${JSON.stringify(given)} is not a format that can be put.`, { hint });
}

function ttlOf(args: Arguments): string | undefined {
  const ttl = args.text('ttl');
  if (ttl === undefined || /^[1-9]\d{0,15}$/.test(ttl)) return ttl;
  throw new CliError('usage', `--ttl ${JSON.stringify(ttl)} is not a whole number of seconds from 1 on.`, {
    hint: 'Write --ttl 3600 for an hour.',
  });
}
