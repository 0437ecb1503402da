import { loadConfig } from '@svc/config';
import { createResponseCache, type EndpointResponse, type ExecEnv } from '@svc/exec-http';
import { createMemoryStore } from '@svc/frames';
import { createService } from '@svc/service';
import { Hono } from 'hono';
import { addRoutes } from '../../src/http/create-app.ts';
import { commandEntry } from './flight-sql-ways.ts';
import { actionEntry } from './flight-ways.ts';
import { COMMAND_NAMES } from '../../../../packages/grpc/src/flight-sql/command.ts';
import { GRPC_PATHS } from '../../../../packages/grpc/src/grpc-server.ts';

/** `GET /frames/:handle` and so on: every route, with the methods that it says it allows. */
async function httpEntries(): Promise<string[]> {
  const loaded = loadConfig({ name: 'service', argv: [], env: {}, homeDir: '' });
  if (loaded.kind !== 'config') throw new Error('The default configuration is not valid.');
  const app = new Hono<ExecEnv>();
  const service = createService({ store: createMemoryStore() });
  const metrics = (): EndpointResponse => ({ body: '' });
  const answerCache = createResponseCache(0);
  addRoutes(app, loaded.config, service, { isStarting: () => false, answerCache, metrics });
  const entries = await Promise.all(
    [...new Set(app.routes.map(({ path }) => path))].map(async (path) => {
      const { headers } = await app.request(path, { method: 'OPTIONS' });
      const allowed = headers.get('allow') ?? '';
      if (allowed === '') throw new Error(`${path} does not say which methods it allows.`);
      return allowed.split(', ').map((method) => `${method} ${path}`);
    }),
  );
  await service.close();
  return entries.flat();
}

/**
 * Every entry of the tables that route requests in the code: HTTP paths and methods, gRPC methods, the commands of Flight
 * SQL, and the actions that the running server lists.
 */
export async function allEntries(actions: readonly string[]): Promise<string[]> {
  return [
    ...(await httpEntries()),
    ...GRPC_PATHS,
    ...COMMAND_NAMES.map(commandEntry),
    ...actions.map(actionEntry),
  ].toSorted();
}
