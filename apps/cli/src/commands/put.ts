import { stat } from 'node:fs/promises';
import type { Arguments } from '../args/command.ts';
import { CliError } from '../errors/cli-error.ts';
import type { Request } from '../client/client.ts';
import type { Command } from '../args/command.ts';
import { CSV_OPTIONS, csvParams } from '../args/csv-options.ts';
import { precedesFile } from '../args/directory-name.ts';
import { readInputName } from '../args/file-formats.ts';
import { framePath } from '../client/frame-path.ts';
import { givenFormat } from '../args/given-format.ts';
import { handleOfFile } from '../args/handle-of-file.ts';
import { reportFrame } from '../frames/report-frame.ts';
import { sendFile } from '../frames/send-file.ts';
import { TTL_OPTION, ttlOf } from '../args/ttl-option.ts';
import { withClient } from '../frames/with-client.ts';
import { MAX_TIMEOUT_SECONDS, serverOptions, TENANT_OPTION } from '../args/client-options.ts';

/** `svc put`: uploads a file as a frame. */
export const put: Command = {
  kind: 'command',
  name: 'put',
  summary: 'Put a file under a handle, replacing the frame.',
  usage: ['[handle]', '<file|->'],
  takesDirectory: precedesFile,
  options: {
    fmt: { value: '<format>', summary: 'The format. Default: by the extension of the file.' },
    append: { summary: 'Append the rows to the frame, or create it.' },
    ttl: TTL_OPTION,
    'if-new': { summary: 'Only if the handle is free.' },
    ...CSV_OPTIONS,
    tenant: TENANT_OPTION,
    ...serverOptions(MAX_TIMEOUT_SECONDS),
  },
  notes: [
    'Without a handle, the file name is the handle: trades for data/trades.csv.gz.',
    'svc help formats lists the formats. - reads standard input.',
    'A failed upload changes nothing.',
    'Examples:',
    '  svc put trades.csv',
    '  svc put today trades.arrow --ttl 86400 --if-new',
  ],
  async run(args, context) {
    const { handle, file } = targetOf(args);
    const path = framePath(handle);
    const { format: fmt, contentEncoding, delimiter } = givenFormat(args, 'fmt', file);
    const ttl = ttlOf(args);
    const isAppending = args.has('append');
    if (isAppending && args.has('if-new')) {
      throw new CliError('usage', '--append and --if-new cannot be combined.', { hint: 'Give one of them.' });
    }
    await refuseSecondFile(handle, file);
    const request: Pick<Request, 'method' | 'path' | 'params' | 'headers'> = {
      method: isAppending ? 'POST' : 'PUT',
      path,
      params: {
        fmt,
        ...(ttl !== undefined && { ttl }),
        ...(fmt === 'csv' && delimiter !== undefined && { delimiter }),
        ...csvParams(args, fmt),
      },
      headers: {
        ...(args.has('if-new') && { 'if-none-match': '*' }),
        ...(contentEncoding !== undefined && { 'content-encoding': contentEncoding }),
      },
    };
    await withClient(
      args,
      context,
      { isWriting: true, createIfMissing: true, timeoutSeconds: MAX_TIMEOUT_SECONDS },
      async (client) => {
        const { rows, version, isNew } = await sendFile(client, request, file, context);
        const what = isNew ? 'new' : isAppending ? 'appended' : 'replaced';
        await reportFrame({ handle, rows, version, what }, args, context);
      },
    );
  },
};

function targetOf({ positionals }: Arguments): { readonly handle: string; readonly file: string } {
  const [first = '', second] = positionals;
  return second === undefined ? { handle: handleOfFile(first), file: first } : { handle: first, file: second };
}

/** Refuses two files, as in `svc put *.csv`: the name of the first would be the handle of the second. */
async function refuseSecondFile(handle: string, file: string): Promise<void> {
  if (readInputName(handle).format === undefined || handle === file) return;
  const isFile = await stat(handle).then(
    (found) => found.isFile(),
    () => false,
  );
  if (!isFile) return;
  throw new CliError('usage', `${JSON.stringify(handle)} is a file too, and svc put takes one file.`, {
    hint: 'Put one file after the other: for f in *.csv; do svc put "$f"; done',
  });
}
