// embed-users.js
import { serve } from '@hono/node-server';
import { ServiceError } from '@svc/errors';
import { createExecApp } from '@svc/exec-http';
import { createMemoryStore } from '@svc/frames';
import { createService } from '@svc/service';
import { Hono } from 'hono';

// The sessions of your app, by a cookie.
const sessions = new Map([
  ['s-ada', { user: 'ada', team: 'alpha', isWriter: true }],
  ['s-bob', { user: 'bob', team: 'alpha', isWriter: false }],
  ['s-eve', { user: 'eve', team: 'beta', isWriter: true }],
]);

/** @type {import('@svc/exec-http').Authenticate} */
function authenticate(request) {
  const [, id] = /(?:^|; )session=([^;]*)/.exec(request.headers.get('cookie') ?? '') ?? [];
  const session = sessions.get(id);
  if (session === undefined) throw new ServiceError('unauthenticated', 'Log in first.');
  const { user, team, isWriter } = session;
  return { id: user, tenant: team, permissions: new Set(isWriter ? ['read', 'write'] : ['read']) };
}

const service = createService({ store: createMemoryStore() });
const app = new Hono().route('/data', createExecApp({ service, authenticate }));
const listen = { hostname: '127.0.0.1', port: Number(process.env.PORT ?? 8080) };
serve({ fetch: app.fetch, ...listen }, () => console.log('listening'));
