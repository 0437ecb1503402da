import { clientOptions, serverOptions } from '../args/client-options.ts';
import type { Command } from '../args/command.ts';
import { createClient, readText } from '../client/client.ts';
import { invalidResponse } from '../errors.ts';

const MAX_BYTES = 1024;
const TIMEOUT_SECONDS = 5;

/** `svc ping`: asks the server for a sign of life. */
export const ping: Command = {
  kind: 'command',
  name: 'ping',
  summary: 'Print ok, and the time, if the server answers.',
  usage: [],
  options: serverOptions(TIMEOUT_SECONDS),
  notes: ['The time is that of one request, including the connection.'],
  async run(args, context) {
    const start = performance.now();
    const client = createClient(clientOptions(args, context, TIMEOUT_SECONDS));
    const response = await client.send({ method: 'GET', path: 'ping' });
    const text = await readText(response, MAX_BYTES);
    if (text !== 'ok') throw invalidResponse(`it is ${JSON.stringify(text.slice(0, 60))}, not "ok"`);
    await context.stdout.write(`ok (${(performance.now() - start).toFixed(1)} ms)\n`);
  },
};
