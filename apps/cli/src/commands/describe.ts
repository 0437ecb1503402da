import { readAnswer } from '../client.ts';
import { serverOptions } from '../client-options.ts';
import type { Command } from '../command.ts';
import { beginsWithDirectory } from '../directory-name.ts';
import { framePath } from '../frame-path.ts';
import { printFrame } from '../print-frames.ts';
import { FRAME } from '../server-answers.ts';
import { withClient } from '../with-client.ts';

const MAX_BYTES = 64 * 1024 * 1024;

/** `svc describe`: what is known of a frame without reading it. */
export const describe: Command = {
  kind: 'command',
  name: 'describe',
  summary: 'Print what is known of a frame, and columns.',
  usage: ['<handle>'],
  takesDirectory: beginsWithDirectory,
  options: { json: { summary: 'Print it as the JSON object of the server.' }, ...serverOptions() },
  notes: [],
  async run(args, context) {
    const { stdout } = context;
    const [handle = ''] = args.positionals;
    const path = framePath(handle);
    await withClient(args, context, {}, async (client) => {
      const frame = await readAnswer(await client.send({ method: 'GET', path }), FRAME, MAX_BYTES);
      await (args.has('json') ? stdout.write(`${JSON.stringify(frame)}\n`) : printFrame(frame, stdout));
    });
  },
};
