import { createClient } from '../client.ts';
import type { Command } from '../command.ts';
import { framePath } from '../frame-path.ts';
import { clientOptions, URL_OPTION } from '../client-options.ts';

/** `svc drop`: ends a frame. */
export const drop: Command = {
  kind: 'command',
  name: 'drop',
  summary: 'Drop a frame.',
  usage: ['<handle>'],
  options: { url: URL_OPTION },
  notes: ['Reads that have begun finish; there is no way back.'],
  async run(args, context) {
    const [handle = ''] = args.positionals;
    const path = framePath(handle);
    await createClient(clientOptions(args, context)).send({ method: 'DELETE', path, isAction: true });
    await context.stdout.write(`dropped ${handle}\n`);
  },
};
