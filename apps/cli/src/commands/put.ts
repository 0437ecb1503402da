import { stat } from 'node:fs/promises';
import { MAX_TIMEOUT_SECONDS, serverOptions, TENANT_OPTION } from '../args/client-options.ts';
import { type Arguments, type Command, precedesFile } from '../args/command.ts';
import { readInputName } from '../args/formats.ts';
import { CSV_OPTIONS, csvParams, givenFormat, handleOfFile, TTL_OPTION, ttlOf } from '../args/input-options.ts';
import type { Request } from '../client/client.ts';
import { framePath } from '../client/requests.ts';
import { CliError } from '../errors.ts';
import { reportFrame, sendFile } from '../frames/frame-requests.ts';
import { withClient } from '../frames/with-client.ts';

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
