// embed-hono.js
import { serve } from '@hono/node-server';
import { createExecApp } from '@svc/exec-http';
import { createMemoryStore } from '@svc/frames';
import { createService } from '@svc/service';
import { Hono } from 'hono';

const app = new Hono();
app.route('/data', createExecApp({ service: createService({ store: createMemoryStore() }) }));
app.notFound((c) => c.text('Nothing here.\n', 404));
const listen = { hostname: '127.0.0.1', port: Number(process.env.PORT ?? 8080) };
serve({ fetch: app.fetch, ...listen }, () => console.log('listening'));
