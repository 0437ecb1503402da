// embed-users.js
import { serve } from '@hono/node-server';
import { ServiceError } from '@svc/errors';
import { createExecApp } from '@svc/exec-http';
import { createMemoryStore } from '@svc/frames';
import { createService } from '@svc/service';
import { Hono } from 'hono';

// The sessions of your app, by a cookie.
const sessions = new Map([
  ['s-ada', { user: 'ada', team: 'alpha', permissions: ['read', 'write'] }],
  ['s-bob', { user: 'bob', team: 'alpha', permissions: ['read'] }],
  ['s-eve', { user: 'eve', team: 'beta', permissions: ['read', 'write'] }],
]);

function authenticate(request) {
  const [, id] = /(?:^|; )session=([^;]*)/.exec(request.headers.get('cookie') ?? '') ?? [];
  const session = sessions.get(id);
  if (session === undefined) throw new ServiceError('unauthenticated', 'Log in first.');
  return { id: session.user, tenant: session.team, permissions: new Set(session.permissions) };
}

const service = createService({ store: createMemoryStore() });
const app = new Hono().route('/data', createExecApp({ service, authenticate }));
const listen = { hostname: '127.0.0.1', port: process.env.PORT ?? 8080 };
serve({ fetch: app.fetch, ...listen }, () => console.log('listening'));
