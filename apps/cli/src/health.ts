import { invalidAnswer } from './cli-error.ts';
import { type Client, readJson } from './client.ts';
import { isObject } from './refusal.ts';

/** What a server says of itself. */
export interface Health {
  readonly status: string;
  readonly version: string;
  readonly uptimeSeconds: number;
}

const MAX_BYTES = 1024 * 1024;

/** Asks a server how it is. */
export async function readHealth(client: Client): Promise<Health> {
  const body = await readJson(await client.send({ method: 'GET', path: 'health' }), MAX_BYTES);
  if (isObject(body)) {
    const { status, version, uptimeSeconds } = body;
    if (typeof status === 'string' && typeof version === 'string' && typeof uptimeSeconds === 'number') {
      return { status, version, uptimeSeconds };
    }
  }
  throw invalidAnswer('it is not the state of a data-frame server');
}
