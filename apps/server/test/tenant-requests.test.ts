import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { bearer, callersFileOf, createCaller } from './callers.ts';
import { type ServerProcess, startProcess, testFile } from './server-process.ts';

async function startTwoTenants(env: Readonly<Record<string, string>>) {
  const [alpha, beta] = [createCaller('alpha', ['read', 'write']), createCaller('beta', ['read', 'write'])];
  const file = testFile('callers.toml', callersFileOf({ alpha, beta }));
  const server = await startProcess({ env: { SERVICE_AUTH_CALLERS_FILE: file, ...env } });
  return { server, alpha: bearer(alpha.token), beta: bearer(beta.token) };
}

/** Sends the start of a request, and reads nothing of the response. */
function send({ port }: ServerProcess, lines: readonly string[], body = '') {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  socket.write(`${lines.join('\r\n')}\r\nhost: localhost\r\n\r\n${body}`);
  return socket;
}

test('a tenant uses three quarters of http.max_in_flight, and leaves the rest to others', async () => {
  const { server, alpha, beta } = await startTwoTenants({ SERVICE_HTTP_MAX_IN_FLIGHT: '8' });
  const list = (authorization: string): Promise<Response> =>
    server.fetch('/frames', { headers: { authorization, connection: 'close' } });
  const uploads = Array.from({ length: 6 }, (_, i) => {
    const head = [`PUT /frames/x${i}?fmt=csv HTTP/1.1`, `authorization: ${alpha}`, 'content-length: 1000'];
    return send(server, head, 'id\n');
  });
  await expect.poll(async () => (await list(alpha)).status).toBe(429);
  expect(await (await list(alpha)).json()).toMatchObject({
    code: 'too_many_requests',
    error: 'The tenant "alpha" already has 6 requests in flight.',
  });
  expect((await list(beta)).status).toBe(200);
  uploads[0]?.destroy();
  await expect.poll(async () => (await list(alpha)).status).toBe(200);
});

test('a tenant that does not read its results leaves a SQL engine to others', async () => {
  const { server, alpha, beta } = await startTwoTenants({ SERVICE_SQL_MAX_CONCURRENT: '2' });
  const query = (authorization: string, sql: string) => [
    `GET /exec?engine=local&fmt=json&query=${encodeURIComponent(sql)} HTTP/1.1`,
    `authorization: ${authorization}`,
  ];
  const unread = Array.from({ length: 2 }, () => send(server, query(alpha, 'select * from range(1000000000)')));
  // The response has begun: its engine waits for the reader.
  await Promise.race(unread.map((socket) => once(socket, 'readable')));
  const [response] = (await once(send(server, query(beta, 'select 1 as a')), 'data')) as [Buffer];
  expect(response.toString()).toContain('"dataset":[[1]]');
});
