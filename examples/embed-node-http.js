// embed-node-http.js
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { createExecApp } from '@svc/exec-http';
import { createMemoryStore } from '@svc/frames';
import { createService } from '@svc/service';
import { Hono } from 'hono';

const app = new Hono().route('/data', createExecApp({ service: createService({ store: createMemoryStore() }) }));
app.notFound((c) => c.text('Nothing here.\n', 404));
const server = createServer(getRequestListener(app.fetch));
server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => console.log('listening'));
