// embed-express.js
import { getRequestListener } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { createExecApp } from '@svc/exec-http';
import { createMemoryStore } from '@svc/frames';
import { createService } from '@svc/service';
import express from 'express';

const exec = createExecApp({ service: createService({ store: createMemoryStore() }) });
exec.notFound((c) => (c.env.incoming?.next?.(), RESPONSE_ALREADY_SENT)); // the next handler of Express answers
const app = express().use('/data', getRequestListener(exec.fetch));
app.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', (error) => console.log(error ?? 'listening'));
