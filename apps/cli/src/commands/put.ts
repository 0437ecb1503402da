import { extname } from 'node:path';
import type { Arguments } from '../arguments.ts';
import { CliError, invalidAnswer } from '../cli-error.ts';
import { createClient, readJson } from '../client.ts';
import type { Command } from '../command.ts';
import { framePath } from '../frame-path.ts';
import { counted } from '../display-text.ts';
import { isObject } from '../refusal.ts';
import { clientOptions, URL_OPTION } from '../client-options.ts';
import { startProgress } from '../progress.ts';
import { openSource } from '../source.ts';

const FORMATS = ['json', 'ndjson', 'arrow'];
const FORMAT_OF_EXTENSION: Readonly<Record<string, string>> = {
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.arrow': 'arrow',
  '.arrows': 'arrow',
  '.feather': 'arrow',
  '.ipc': 'arrow',
};
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** `svc put`: makes a frame of a file. */
export const put: Command = {
  kind: 'command',
  name: 'put',
  summary: 'Put a file under a handle, replacing the frame.',
  usage: ['<handle>', '<file|->'],
  options: {
    fmt: { value: FORMATS.join('|'), summary: 'The format. Default: by the extension of the file.' },
    ttl: { value: '<seconds>', summary: 'Let the frame end by itself. Default: never.' },
    'if-new': { summary: 'Only where the handle is free.' },
    url: URL_OPTION,
  },
  notes: [
    'json: an array of objects (.json). ndjson: one object a line (.ndjson, .jsonl).',
    'arrow: an Arrow IPC stream or file (.arrow, .arrows, .feather, .ipc). - reads',
    'the standard input. A broken upload changes nothing.',
    '',
    'Examples:',
    '  svc put trades trades.json',
    '  svc put today trades.arrow --ttl 86400 --if-new',
    '  echo \'[{"id": 1}]\' | svc put demo - --fmt json',
  ],
  async run(args, context) {
    const [handle = '', file = ''] = args.positionals;
    const path = framePath(handle);
    const fmt = formatOf(args, file);
    const ttl = ttlOf(args);
    const client = createClient(clientOptions(args, context));
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
      });
      const info = await readJson(answer, MAX_ANSWER_BYTES);
      if (!isObject(info) || typeof info['rows'] !== 'number' || typeof info['version'] !== 'string') {
        throw invalidAnswer('it does not describe a frame');
      }
      progress.end();
      const what = answer.status === 201 ? 'new' : 'replaced';
      await context.stdout.write(`${handle}: ${counted(info['rows'], 'row')}, version ${info['version']} (${what})\n`);
    } finally {
      progress.end();
      await source.close();
    }
  },
};

function formatOf(args: Arguments, file: string): string {
  const given = args.text('fmt');
  const fmt = given ?? FORMAT_OF_EXTENSION[extname(file).toLowerCase()];
  if (fmt !== undefined && FORMATS.includes(fmt)) return fmt;
  const hint = `Say --fmt ${FORMATS.join(' or --fmt ')}: these can be put.`;
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
