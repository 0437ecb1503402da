import { inject } from 'vitest';
import { type ServerOptions, type ServerProcess, startProcess } from '../../apps/server/test/server-process.ts';

/** Starts a server that forwards everything to the database, with its console at `/`. */
export function startForwarding({ env = {}, ...options }: ServerOptions = {}): Promise<ServerProcess> {
  return startProcess({
    env: {
      SERVICE_TSDB_HTTP_URL: inject('questdbUrl'),
      SERVICE_TSDB_FORWARD: 'all',
      SERVICE_HTTP_CONSOLE: 'false',
      SERVICE_HTTP_DEFAULT_FMT: 'json',
      ...env,
    },
    ...options,
  });
}
