import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import { expect, onTestFinished, test } from 'vitest';
import { createTestAuthority } from '../../../tools/test-certificates.js';
import type { AuthEvent } from './auth-event.ts';
import { openKeySet } from './jwks.ts';

const authority = await createTestAuthority();

/** A server of keys; what it answers can change. */
async function serveKeys() {
  const { publicKey } = await generateKeyPair('ES256');
  const answer = { status: 200, body: JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one' }] }) };
  let requests = 0;
  const server = createServer(await authority.issue(['127.0.0.1']), (_request, response) => {
    requests += 1;
    response.writeHead(answer.status, { location: 'https://127.0.0.1:1/' }).end(answer.body);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const source = `https://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`;
  return { source, answer, requests: () => requests };
}

async function open(source: string, ca: string | undefined = authority.cert) {
  const clock = { nowMs: 0 };
  const events: AuthEvent[] = [];
  const keys = await openKeySet({ source, ca, onEvent: (event) => events.push(event), now: () => clock.nowMs });
  return { keys, clock, events };
}

test('keys are fetched again for an unknown key, at most once in 30 s', async () => {
  const { source, requests } = await serveKeys();
  const { keys, clock, events } = await open(source);
  const before = keys.current;
  clock.nowMs = 29_999;
  expect(await keys.refresh()).toBe(false);
  expect([requests(), keys.current === before]).toEqual([1, true]);
  clock.nowMs = 30_000;
  // Several requests at once share one fetch.
  expect(await Promise.all([keys.refresh(), keys.refresh(), keys.refresh()])).toEqual([true, true, true]);
  expect(await keys.refresh()).toBe(false);
  expect([requests(), keys.current === before]).toEqual([2, false]);
  expect(events).toEqual([{ kind: 'keys_loaded', source, keys: 1 }]);
});

test.each([
  ['an error status', { status: 500, body: '' }, 'The status is 500.'],
  ['a redirect', { status: 302, body: '' }, 'The status is 302.'],
  ['nonsense', { status: 200, body: '<html>' }, 'It is not JSON.'],
  ['no keys', { status: 200, body: '{"keys":[]}' }, 'It is not a JSON Web Key Set with at least one key.'],
  ['too much', { status: 200, body: 'x'.repeat(2 ** 20 + 1) }, 'The response has more than 1048576 bytes.'],
])('%s leaves the keys from before in force, and is an error at the start', async (_what, broken, reason) => {
  const { source, answer } = await serveKeys();
  const { keys, clock, events } = await open(source);
  const before = keys.current;
  Object.assign(answer, broken);
  clock.nowMs = 30_000;
  expect(await keys.refresh()).toBe(false);
  expect(keys.current).toBe(before);
  expect(events).toEqual([{ kind: 'keys_refused', source, reason }]);
  await expect(open(source)).rejects.toThrow(`The keys at ${source} cannot be loaded. ${reason}`);
});

test('a server of another authority is not trusted', async () => {
  const { source, requests } = await serveKeys();
  await expect(open(source, (await createTestAuthority()).cert)).rejects.toThrow('cannot be loaded');
  expect(requests()).toBe(0);
});
