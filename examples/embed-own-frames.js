// embed-own-frames.js
import { serve } from '@hono/node-server';
import { createExecApp } from '@svc/exec-http';
import { createReadOnlyStore } from '@svc/frames';
import { createService } from '@svc/service';
import { tableFromJSON } from 'apache-arrow';
import { Hono } from 'hono';

// What your program has: here two lists. A database works the same way, with a query in each function.
const rows = {
  orders: () => [{ id: 1, customer: 'Ada', total: 9.5 }],
  processes: () => [{ pid: process.pid, uptime: Math.floor(process.uptime()) }],
};

const store = createReadOnlyStore({
  list: () => Object.keys(rows),
  open: (_tenant, handle) => (Object.hasOwn(rows, handle) ? tableFromJSON(rows[handle]()) : undefined),
});

const app = new Hono().route('/data', createExecApp({ service: createService({ store }) }));
const listen = { hostname: '127.0.0.1', port: Number(process.env.PORT ?? 8080) };
serve({ fetch: app.fetch, ...listen }, () => console.log('listening'));
