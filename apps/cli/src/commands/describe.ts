import { readAnswer } from '../client.ts';
import { serverOptions } from '../client-options.ts';
import type { Command } from '../command.ts';
import { beginsWithDirectory } from '../directory-name.ts';
import { counted, visibleText } from '../display-text.ts';
import { framePath } from '../frame-path.ts';
import type { Output } from '../output.ts';
import { FRAME, type FrameInfo } from '../server-answers.ts';
import { createTablePrinter } from '../table-printer.ts';
import { withClient } from '../with-client.ts';

const MAX_BYTES = 64 * 1024 * 1024;
const COLUMNS = ['column', 'type', 'nullable'].map((name) => ({ name, isNumeric: false }));

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

async function printFrame(frame: FrameInfo, stdout: Output): Promise<void> {
  const { columns, rows, bytes, expires, created, version, tier, handle: name } = frame;
  const facts = { handle: name, rows, bytes, created, expires: expires ?? 'never', version, tier };
  const lines = Object.entries(facts).map(([key, value]) => `${key.padEnd(9)}${visibleText(String(value))}\n`);
  await stdout.write(`${lines.join('')}\n`);
  const printer = createTablePrinter(COLUMNS, stdout);
  await printer.add(columns.map((column) => [column.name, column.type, column.nullable ? 'yes' : 'no']));
  await printer.end();
  await stdout.write(`${counted(columns.length, 'column')}\n`);
}
