import { serverOptions, TENANT_OPTION } from '../args/client-options.ts';
import type { Command } from '../args/command.ts';
import { beginsWithDirectory } from '../args/directory-name.ts';
import { listFrames } from '../client/list-frames.ts';
import type { Output } from '../output/output.ts';
import { printFrameList } from '../output/print-frames.ts';
import type { ListedFrame } from '../client/server-responses.ts';
import { withClient } from '../frames/with-client.ts';

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
    await withClient(args, context, {}, (client) => {
      // A directory has no server that reads the files later.
      const pages = listFrames(client, prefix, context.signal, args.directory !== undefined);
      return args.has('json') ? printJson(pages, context.stdout) : printFrameList(pages, context.stdout);
    });
  },
};

async function printJson(pages: AsyncIterable<readonly ListedFrame[]>, output: Output): Promise<void> {
  let separator = '{"frames":[';
  for await (const page of pages) {
    for (const frame of page) {
      await output.write(`${separator}\n${JSON.stringify(frame)}`);
      separator = ',';
    }
  }
  await output.write(separator === ',' ? '\n]}\n' : `${separator}]}\n`);
}
