import { serverOptions, TENANT_OPTION } from '../args/client-options.ts';
import { beginsWithDirectory, type Command } from '../args/command.ts';
import { type Client, readResponse } from '../client/client.ts';
import { countFrames, framePath, listFrames } from '../client/requests.ts';
import { FRAME, type ListedFrame } from '../client/server-responses.ts';
import { CliError, EXIT } from '../errors.ts';
import { withNearestHandle } from '../frames/frame-requests.ts';
import { withClient } from '../frames/with-client.ts';
import type { Output } from '../output/output.ts';
import { printFrame, printFrameList } from '../output/print-frames.ts';
import { formatCount } from '../text.ts';

/** `svc list`: lists the frames. */
export const list: Command = {
  kind: 'command',
  name: 'list',
  summary: 'List the frames, all or those with a prefix.',
  usage: ['[prefix]'],
  takesDirectory: beginsWithDirectory,
  options: {
    json: { summary: 'Print the metadata of all, as one JSON object.' },
    tenant: TENANT_OPTION,
    ...serverOptions(),
  },
  notes: ['Examples:', '  svc list', '  svc list ./data', "  svc list tra --json | jq -r '.frames[].handle'"],
  async run(args, context) {
    const [prefix] = args.positionals;
    const isLocal = args.directory !== undefined;
    await withClient(args, context, {}, async (client) => {
      // In a directory, no server reads the files later.
      const pages = listFrames(client, prefix, context.signal, isLocal);
      const count = await (args.has('json') ? printJson : printFrameList)(pages, context.stdout);
      if (isLocal && count === 0 && prefix === undefined) await hintAtTenants(client, context.stderr);
    });
  },
};

async function printJson(pages: AsyncIterable<readonly ListedFrame[]>, output: Output): Promise<number> {
  let count = 0;
  for await (const page of pages) {
    for (const frame of page) {
      await output.write(`${count === 0 ? '{"frames":[' : ','}\n${JSON.stringify(frame)}`);
      count += 1;
    }
  }
  await output.write(count === 0 ? '{"frames":[]}\n' : '\n]}\n');
  return count;
}

/** Says if a directory without frames of one tenant has some of others. */
async function hintAtTenants(client: Client, stderr: Output): Promise<void> {
  const frames = await countFrames(client);
  if (frames === 0) return;
  await stderr.write(
    `hint: The directory has ${formatCount(frames, 'frame')} of other tenants; --tenant <name> selects one.\n`,
  );
}

const MAX_BYTES = 64 * 1024 * 1024;

/** `svc describe`: prints the metadata of a frame. */
export const describe: Command = {
  kind: 'command',
  name: 'describe',
  summary: 'Print the metadata and columns of a frame.',
  usage: ['<handle>'],
  takesDirectory: beginsWithDirectory,
  options: { json: { summary: 'Print the JSON object of the server.' }, tenant: TENANT_OPTION, ...serverOptions() },
  notes: [],
  async run(args, context) {
    const { stdout } = context;
    const [handle = ''] = args.positionals;
    const path = framePath(handle);
    await withClient(args, context, {}, async (client) => {
      const response = await withNearestHandle(client, handle, context.signal, () =>
        client.send({ method: 'GET', path }),
      );
      const frame = await readResponse(response, FRAME, MAX_BYTES);
      await (args.has('json') ? stdout.write(`${JSON.stringify(frame)}\n`) : printFrame(frame, stdout));
    });
  },
};

/** `svc drop`: drops frames. */
export const drop: Command = {
  kind: 'command',
  name: 'drop',
  summary: 'Drop frames.',
  usage: ['<handle>...'],
  takesDirectory: beginsWithDirectory,
  options: { tenant: TENANT_OPTION, ...serverOptions() },
  notes: [
    'Reads in flight finish. A drop cannot be undone. If one of several frames cannot',
    'be dropped, the others still are, and the exit code is 1.',
  ],
  async run(args, context) {
    const handles = [...new Set(args.positionals)];
    // Checked before the first request: an invalid handle must not leave the work half done.
    const paths = handles.map((handle) => ({ handle, path: framePath(handle) }));
    const refusals: CliError[] = [];
    await withClient(args, context, { isWriting: true }, async (client) => {
      for (const { handle, path } of paths) {
        try {
          await withNearestHandle(client, handle, context.signal, () =>
            client.send({ method: 'DELETE', path, isAction: true, expects: { statuses: [204] } }),
          );
          await context.stdout.write(`dropped ${handle}\n`);
        } catch (error) {
          if (!(error instanceof CliError) || error.exitCode !== EXIT.refused) throw error;
          refusals.push(error);
        }
      }
    });
    const [first] = refusals;
    if (first === undefined) return;
    if (refusals.length === 1) throw first;
    throw new CliError('refused', `${refusals.length} of ${handles.length} frames were not dropped.`, {
      details: refusals.map(({ message }) => `  ${message}`),
      hint: first.hint,
    });
  },
};
