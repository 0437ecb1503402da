import type { Client } from '../client/client.ts';
import { readHealth } from '../client/health.ts';
import type { SqlEngine } from '../frames/run-sql.ts';

/** Returns the default engine of a prompt: the frames if the server has no database, else the default of the server. */
export async function defaultEngine(client: Client): Promise<SqlEngine | undefined> {
  // An unreachable server is reported with the first statement.
  const health = await readHealth(client).catch(() => undefined);
  const { tsdb, local } = health?.parts ?? {};
  return tsdb?.status === 'not_configured' && local?.status === 'configured' ? 'local' : undefined;
}
