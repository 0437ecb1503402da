import type { Client } from '../client/client.ts';
import { readHealth } from '../client/health.ts';
import type { SqlEngine } from '../frames/run-sql.ts';

/** Whom a prompt asks where nobody was named: the frames, where the server has no database; else whom the server does. */
export async function defaultEngine(client: Client): Promise<SqlEngine | undefined> {
  // A server that cannot be asked says so when the first statement is sent.
  const health = await readHealth(client).catch(() => undefined);
  const { tsdb, local } = health?.parts ?? {};
  return tsdb?.status === 'not_configured' && local?.status === 'configured' ? 'local' : undefined;
}
