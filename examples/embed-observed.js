// embed-observed.js
import { serve } from '@hono/node-server';
import { createExecApp } from '@svc/exec-http';
import { createMemoryStore } from '@svc/frames';
import { createService } from '@svc/service';
import { Hono } from 'hono';

const MEGABYTE = 1024 * 1024;

const service = createService({
  store: createMemoryStore({ maxBytes: 512 * MEGABYTE }), // all frames together, else 507
  maxUploadBytes: 64 * MEGABYTE, // one upload, else 413
  maxDecodeBytes: 256 * MEGABYTE, // all uploads while they are decoded, else 507
  observe(event) {
    if (event.kind !== 'request_answered') return;
    const { method, route, status, durationMs, error } = event;
    console.log(method, route, status, error?.code ?? 'ok', `${durationMs.toFixed(1)} ms`);
  },
});

const app = new Hono().route('/data', createExecApp({ service, maxRows: 100_000 }));
const listen = { hostname: '127.0.0.1', port: Number(process.env.PORT ?? 8080) };
const server = serve({ fetch: app.fetch, ...listen }, () => console.log('listening'));

process.once('SIGTERM', () => {
  service.stop(); // New requests are 503.
  server.close(() => service.close()); // Release everything when the requests in flight are done.
});
