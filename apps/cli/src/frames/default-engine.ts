import type { Client } from '../client/client.ts';
import { readHealth } from '../client/health.ts';

/**
 * Returns the engine of SQL without `--engine`: the default of the server, or `local`, the frames, if that is the
 * time-series database and the server has none.
 */
export async function defaultEngine(client: Client): Promise<string> {
  const { defaultEngine: engine = 'tsdb', parts = {} } = await readHealth(client);
  const isMissing = engine === 'tsdb' && parts.tsdb?.status === 'not_configured';
  return isMissing && parts.local?.status === 'configured' ? 'local' : engine;
}
