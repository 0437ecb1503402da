import { renameSync, writeFileSync } from 'node:fs';
import { FrameServiceDefinition } from '@svc/proto';
import { type Channel, createChannel, createClient, Metadata } from 'nice-grpc';
import { expect, onTestFinished, test } from 'vitest';
import { bearer, callersFileOf, createCaller, type TestCaller } from './callers.ts';
import { pathOf } from './flight-client.ts';
import { type ServerProcess, startProcess, testFile } from './server-process.ts';
import { flights } from './ways-in/flight-messages.ts';

const ROWS = 400_000;
const MAX_MS = 5000;

function replace(file: string, callers: Readonly<Record<string, TestCaller>>): void {
  writeFileSync(`${file}.new`, callersFileOf(callers));
  renameSync(`${file}.new`, file);
}

/** Whether requests of a caller are accepted over HTTP, `FrameService` and Flight, on connections that are open already. */
function accepted({ url }: ServerProcess, channel: Channel, { token }: TestCaller): Promise<boolean[]> {
  const authorization = bearer(token);
  const frames = createClient(FrameServiceDefinition, channel);
  const info = flights((client, options) => client.getFlightInfo(pathOf('long'), options));
  const nothing = new Uint8Array(0);
  return Promise.all([
    fetch(`${url}/frames`, { headers: { authorization } }).then(({ ok }) => ok),
    frames.listFrames({}, { metadata: Metadata({ authorization }) }).then(
      () => true,
      () => false,
    ),
    info({ url, channel, ticket: nothing, query: nothing, update: nothing }, authorization).then(
      (code) => code === 'ok',
    ),
  ]);
}

test('a revoked token is refused within 5 s over every protocol, and its running response finishes', async () => {
  const kept = createCaller('alpha', ['read', 'write']);
  const revoked = createCaller('alpha', ['read']);
  const file = testFile('callers.toml', callersFileOf({ kept, revoked }));
  const server = await startProcess({ env: { SERVICE_AUTH_CALLERS_FILE: file } });
  const body = `id,text\n${Array.from({ length: ROWS }, (_, i) => `${i},${'x'.repeat(40)}`).join('\n')}\n`;
  const headers = { authorization: bearer(kept.token), 'content-type': 'text/csv' };
  const put = await fetch(`${server.url}/frames/long`, { method: 'PUT', body, headers });
  expect(put.status).toBe(201);

  const channel = createChannel(server.grpcAddress);
  onTestFinished(() => channel.close());
  expect(await accepted(server, channel, revoked)).toEqual([true, true, true]);
  const running = await server.fetch('/exp?handle=long&fmt=ndjson', {
    headers: { authorization: bearer(revoked.token), 'accept-encoding': 'identity' },
  });
  const reader = running.body?.getReader();
  const first = await reader?.read();
  let text = Buffer.from(first?.value ?? new Uint8Array(0)).toString('latin1');

  replace(file, { kept });
  const startMs = performance.now();
  await expect.poll(() => accepted(server, channel, revoked), { interval: 50 }).toEqual([false, false, false]);
  expect(performance.now() - startMs).toBeLessThan(MAX_MS);
  expect(await accepted(server, channel, kept)).toEqual([true, true, true]);

  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    text += Buffer.from(next.value).toString('latin1');
  }
  expect(text.trimEnd().split('\n').length).toBe(ROWS);
});
