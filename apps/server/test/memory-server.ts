import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { createConsoleApp } from '@svc/console';
import { createExecApp } from '@svc/exec-http';
import { createMemoryStore } from '@svc/frames';
import { createService } from '@svc/service';
import { Hono } from 'hono';
import { onTestFinished } from 'vitest';

/** Serves frames in memory, without any SQL engine, and the console, as a host of its own does. It ends with the test. */
export async function serveMemory(): Promise<string> {
  const app = new Hono();
  app.route('/', createConsoleApp());
  app.route('/', createExecApp({ service: createService({ store: createMemoryStore() }) }));
  const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
