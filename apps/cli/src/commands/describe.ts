import { createClient, readAnswer } from '../client.ts';
import { clientOptions, serverOptions } from '../client-options.ts';
import type { Command } from '../command.ts';
import { counted, visibleText } from '../display-text.ts';
import { framePath } from '../frame-path.ts';
import { FRAME } from '../server-answers.ts';
import { createTablePrinter } from '../table-printer.ts';

const MAX_BYTES = 64 * 1024 * 1024;
const COLUMNS = ['column', 'type', 'nullable'].map((name) => ({ name, isNumeric: false }));

/** `svc describe`: what is known of a frame without reading it. */
export const describe: Command = {
  kind: 'command',
  name: 'describe',
  summary: 'Print what is known of a frame, and its columns.',
  usage: ['<handle>'],
  options: { json: { summary: 'Print it as the JSON object of the server.' }, ...serverOptions() },
  notes: [],
  async run(args, context) {
    const { stdout } = context;
    const [handle = ''] = args.positionals;
    const client = createClient(clientOptions(args, context));
    const frame = await readAnswer(await client.send({ method: 'GET', path: framePath(handle) }), FRAME, MAX_BYTES);
    if (args.has('json')) return stdout.write(`${JSON.stringify(frame)}\n`);
    const { columns, rows, bytes, expires, created, version, tier, handle: name } = frame;
    const facts = { handle: name, rows, bytes, created, expires: expires ?? 'never', version, tier };
    const lines = Object.entries(facts).map(([key, value]) => `${key.padEnd(9)}${visibleText(String(value))}\n`);
    await stdout.write(`${lines.join('')}\n`);
    const printer = createTablePrinter(COLUMNS, stdout);
    await printer.add(columns.map((column) => [column.name, column.type, column.nullable ? 'yes' : 'no']));
    await printer.end();
    await stdout.write(`${counted(columns.length, 'column')}\n`);
  },
};
