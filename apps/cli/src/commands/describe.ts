import { readResponse } from '../client/client.ts';
import { serverOptions, TENANT_OPTION } from '../args/client-options.ts';
import type { Command } from '../args/command.ts';
import { beginsWithDirectory } from '../args/directory-name.ts';
import { framePath } from '../client/frame-path.ts';
import { printFrame } from '../output/print-frames.ts';
import { FRAME } from '../client/server-responses.ts';
import { withNearestHandle } from '../frames/nearest-handle.ts';
import { withClient } from '../frames/with-client.ts';

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
