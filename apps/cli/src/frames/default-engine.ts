import { type Client, readResponse } from '../client/client.ts';
import { INFO } from '../client/server-responses.ts';

const MAX_BYTES = 1024 * 1024;

/**
 * Returns the engine of SQL without `--engine`: the default of the server. If the server does not have that one: `local`, the
 * frames, or its only engine.
 */
export async function defaultEngine(client: Client): Promise<string> {
  const info = await readResponse(await client.send({ method: 'GET', path: 'info' }), INFO, MAX_BYTES);
  const { engines, defaultEngine: engine } = info;
  if (engines.includes(engine) || engines.length === 0) return engine;
  return engines.find((name) => name === 'local') ?? engines[0] ?? engine;
}
