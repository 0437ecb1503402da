import type { Arguments } from '../args/command.ts';
import { CliError } from '../errors/cli-error.ts';
import type { Request } from '../client/client.ts';
import type { Command } from '../args/command.ts';
import { CSV_OPTIONS, csvParams } from '../args/csv-options.ts';
import { beginsWithDirectory } from '../args/directory-name.ts';
import { describeInputFormats } from '../args/file-formats.ts';
import { framePath } from '../client/frame-path.ts';
import { formatCount } from '../text/display-text.ts';
import { givenFormat } from '../args/given-format.ts';
import { sendFile } from '../frames/send-file.ts';
import { withClient } from '../frames/with-client.ts';
import { MAX_TIMEOUT_SECONDS, serverOptions } from '../args/client-options.ts';

/** `svc put`: uploads a file as a frame. */
export const put: Command = {
  kind: 'command',
  name: 'put',
  summary: 'Put a file under a handle, replacing the frame.',
  usage: ['<handle>', '<file|->'],
  takesDirectory: beginsWithDirectory,
  options: {
    fmt: { value: '<format>', summary: 'The format. Default: by the extension of the file.' },
    append: { summary: 'Append the rows to the frame, or create it.' },
    ttl: { value: '<seconds>', summary: 'Let the frame expire. Default: never.' },
    'if-new': { summary: 'Only if the handle is free.' },
    ...CSV_OPTIONS,
    ...serverOptions(MAX_TIMEOUT_SECONDS),
  },
  notes: [
    'The formats and their extensions:',
    ...describeInputFormats(),
    '- reads standard input. A failed upload changes nothing.',
    'Example: svc put today trades.arrow --ttl 86400 --if-new',
  ],
  async run(args, context) {
    const [handle = '', file = ''] = args.positionals;
    const path = framePath(handle);
    const fmt = givenFormat(args, 'fmt', file);
    const ttl = ttlOf(args);
    const isAppending = args.has('append');
    if (isAppending && args.has('if-new')) {
      throw new CliError('usage', '--append and --if-new cannot be combined.', { hint: 'Give one of them.' });
    }
    const request: Pick<Request, 'method' | 'path' | 'params' | 'headers'> = {
      method: isAppending ? 'POST' : 'PUT',
      path,
      params: { fmt, ...(ttl !== undefined && { ttl }), ...csvParams(args, fmt) },
      headers: args.has('if-new') ? { 'if-none-match': '*' } : {},
    };
    await withClient(args, context, { isWriting: true, timeoutSeconds: MAX_TIMEOUT_SECONDS }, async (client) => {
      const { rows, version, isNew } = await sendFile(client, request, file, context);
      const what = isNew ? 'new' : isAppending ? 'appended' : 'replaced';
      await context.stdout.write(`${handle}: ${formatCount(rows, 'row')}, version ${version} (${what})\n`);
    });
  },
};

function ttlOf(args: Arguments): string | undefined {
  const ttl = args.text('ttl');
  if (ttl === undefined || /^[1-9]\d{0,15}$/.test(ttl)) return ttl;
  throw new CliError('usage', `--ttl ${JSON.stringify(ttl)} is not a positive whole number of seconds.`, {
    hint: 'Write --ttl 3600 for an hour.',
  });
}
