import { type Client, readResponse } from './client.ts';
import { type Health, HEALTH } from './server-responses.ts';

const MAX_BYTES = 1024 * 1024;

/** Reads the health of a server. */
export async function readHealth(client: Client): Promise<Health> {
  return readResponse(await client.send({ method: 'GET', path: 'health' }), HEALTH, MAX_BYTES);
}
