import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadConfig } from '@svc/config';
import { createMemoryStore } from '@svc/frames';
import { createService } from '@svc/service';
import { expect, onTestFinished, test } from 'vitest';
import type { Connections } from '../src/http/connections.ts';
import { createHttpServers } from '../src/http/create-http-server.ts';

async function listen(): Promise<{ readonly port: number; readonly connections: Connections }> {
  const loaded = loadConfig({ name: 'service', argv: [], env: {}, homeDir: '' });
  if (loaded.kind !== 'config') throw new Error('The default configuration is not valid.');
  const service = createService({ store: createMemoryStore() });
  const options = { isStarting: () => false, tls: undefined, metrics: undefined };
  const { http, connections } = createHttpServers(loaded.config, service, options).main;
  onTestFinished(async () => {
    http.closeAllConnections();
    http.close();
    await service.close();
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return { port: (http.address() as AddressInfo).port, connections };
}

test('the connections of a server count the requests in flight as they start and end', async () => {
  const { port, connections } = await listen();
  expect(connections.inFlight()).toBe(0);
  // Stays in flight: its body is not complete.
  const upload = request({ port, host: '127.0.0.1', method: 'PUT', path: '/frames/t?fmt=csv' });
  upload.on('error', () => undefined).write('a\n');
  await expect.poll(() => connections.inFlight()).toBe(1);
  upload.destroy();
  await expect.poll(() => connections.inFlight()).toBe(0);
});
