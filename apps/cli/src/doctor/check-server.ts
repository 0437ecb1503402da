import { type ClientOptions, createClient } from '../client/client.ts';
import { readHealth } from '../client/health.ts';
import { type Diagnosis, failedCheck, TIMEOUT_MS } from './diagnosis.ts';
import { withTimeout } from '../client/with-timeout.ts';

/** The server to check. */
export interface CheckServerOptions {
  readonly client: ClientOptions;
  /** Whether the user named it. If not, it may simply not be started yet. */
  readonly isNamed: boolean;
  /** The version of `svc`. */
  readonly version: string;
}

/** Checks that the server of the other commands answers and has the same version. */
export async function checkServer({ client, isNamed, version }: CheckServerOptions): Promise<Diagnosis> {
  const signal = withTimeout(client.signal, TIMEOUT_MS);
  try {
    const health = await readHealth(createClient({ ...client, signal }));
    if (health.version === undefined) {
      const text = `The server ${client.url} answers: ${health.status}. It needs a token for everything else.`;
      return { status: 'ok', text };
    }
    const text = `The server ${client.url} answers: ${health.status}, version ${health.version}.`;
    if (health.version === version) return { status: 'ok', text };
    return { status: 'warning', text, advice: `This svc has version ${version}: use the same for both.` };
  } catch (error) {
    return failedCheck(isNamed ? 'problem' : 'warning', error);
  }
}
