import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { bearer, callersFileOf, createCaller } from './callers.ts';
import { startProcess, testFile } from './server-process.ts';

test('a tenant uses three quarters of http.max_in_flight, and leaves the rest to others', async () => {
  const [alpha, beta] = [createCaller('alpha', ['read', 'write']), createCaller('beta', ['read', 'write'])];
  const file = testFile('callers.toml', callersFileOf({ alpha, beta }));
  const server = await startProcess({
    env: { SERVICE_AUTH_CALLERS_FILE: file, SERVICE_HTTP_MAX_IN_FLIGHT: '8' },
  });
  const list = (token: string): Promise<Response> =>
    server.fetch('/frames', { headers: { authorization: bearer(token), connection: 'close' } });
  const uploads = Array.from({ length: 6 }, (_, i) => {
    const socket = connect(server.port, '127.0.0.1').on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    const head = [`PUT /frames/x${i}?fmt=csv HTTP/1.1`, 'host: localhost', `authorization: ${bearer(alpha.token)}`];
    socket.write(`${head.join('\r\n')}\r\ncontent-length: 1000\r\n\r\nid\n`);
    return socket;
  });
  await expect.poll(async () => (await list(alpha.token)).status).toBe(429);
  expect(await (await list(alpha.token)).json()).toMatchObject({
    code: 'too_many_requests',
    error: 'The tenant "alpha" already has 6 requests in flight.',
  });
  expect((await list(beta.token)).status).toBe(200);
  uploads[0]?.destroy();
  await expect.poll(async () => (await list(alpha.token)).status).toBe(200);
});
