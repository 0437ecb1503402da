// Every cell of the table of ways in: each row with each credential, tenant and set of permissions.
import { renameSync, writeFileSync } from 'node:fs';
import { PERMISSIONS } from '@svc/auth';
import { FrameServiceDefinition } from '@svc/proto';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { type Channel, createChannel, createClient, Metadata } from 'nice-grpc';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { basic, bearer, CALLERS, callersFileOf, createCaller, EVERY_CALLER, type TestCaller } from './callers.ts';
import { pathOf } from './flight-client.ts';
import { runToEnd, type ServerProcess, startProcess, testFile } from './server-process.ts';
import { flights } from './ways-in/flight-messages.ts';
import { nameOf, type Target } from './ways-in/way.ts';
import { openTarget, outcomeFor, outcomesOfStrangers, WAYS } from './ways-in/ways.ts';

const ISSUER = 'https://login.example.com/';
const revoked = createCaller('alpha', PERMISSIONS);
const elsewhere = Object.fromEntries(
  Object.entries(EVERY_CALLER).map(([name, { permissions }]) => [`beta: ${name}`, createCaller('beta', permissions)]),
);

const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
const jwk = { ...(await exportJWK(publicKey)), kid: 'known' };
const stranger = await generateKeyPair('RS256', { extractable: true });

const now = Math.floor(Date.now() / 1000);
const CLAIMS = { iss: ISSUER, aud: 'svc', sub: 'ada', tenant: 'alpha', permissions: PERMISSIONS, exp: now + 3600 };

function sign(changes: Readonly<Record<string, unknown>> = {}, kid = 'known', key = privateKey): Promise<string> {
  return new SignJWT({ ...CLAIMS, ...changes }).setProtectedHeader({ alg: 'RS256', kid }).sign(key);
}

async function signWithPublicKey(): Promise<string> {
  const secret = Buffer.from(await exportSPKI(publicKey));
  return new SignJWT(CLAIMS).setProtectedHeader({ alg: 'HS256', kid: 'known' }).sign(secret);
}

const [, id = '', secret = ''] = /^svc_(.{8})_(.*)$/.exec(CALLERS.all.token) ?? [];

/** What proves no caller. */
const REFUSED: Readonly<Record<string, string>> = {
  'a wrong secret': bearer(`svc_${id}_${'x'.repeat(43)}`),
  'a secret with one other bit': bearer(`svc_${id}_${secret.slice(0, -1)}${secret.endsWith('A') ? 'E' : 'A'}`),
  'an unknown id': bearer(`svc_t-000000_${secret}`),
  'an expired token': bearer(CALLERS.expired.token),
  'a revoked token': bearer(revoked.token),
  'a token without Bearer': CALLERS.all.token,
  'a token as the user': `Basic ${Buffer.from(`${CALLERS.all.token}:`).toString('base64')}`,
  'another scheme': `Digest ${CALLERS.all.token}`,
  'an oversized token': bearer('x'.repeat(12_000)),
  'an expired JWT': bearer(await sign({ exp: now - 60 })),
  'a JWT without an expiry': bearer(await sign({ exp: undefined })),
  'a JWT that is not valid yet': bearer(await sign({ nbf: now + 3600 })),
  'a JWT of another issuer': bearer(await sign({ iss: 'https://evil.example.com/' })),
  'a JWT for another audience': bearer(await sign({ aud: 'other' })),
  'a JWT of an unknown kid': bearer(await sign({}, 'unknown')),
  'a JWT of another key': bearer(await sign({}, 'known', stranger.privateKey)),
  'a JWT with alg none': bearer(new UnsecuredJWT(CLAIMS).encode()),
  'a JWT with HS256 and the public key': bearer(await signWithPublicKey()),
  'a JWT without a tenant': bearer(await sign({ tenant: undefined })),
};

/** Other ways to prove a caller of the tenant alpha with all permissions. */
const ACCEPTED: Readonly<Record<string, string>> = {
  'a token': bearer(CALLERS.all.token),
  'a token as a password': basic(CALLERS.all.token),
  'a JWT': bearer(await sign()),
  'a JWT as a password': basic(await sign()),
};

type Cell = readonly [what: string, authorization: string | undefined, outcome: string];

let target: Target;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  const server = await startProcess({
    args: ['--log-level', 'error'],
    env: {
      SERVICE_AUTH_CALLERS_FILE: testFile('callers.toml', callersFileOf({ ...EVERY_CALLER, ...CALLERS, ...elsewhere })),
      SERVICE_AUTH_JWKS: testFile('jwks.json', JSON.stringify({ keys: [jwk] })),
      SERVICE_AUTH_JWT_ISSUER: ISSUER,
      SERVICE_AUTH_JWT_AUDIENCE: 'svc',
    },
    onEnd: (end) => void ends.push(end),
  });
  target = await openTarget(server, bearer(CALLERS.all.token));
});

afterAll(async () => {
  target.channel.close();
  for (const end of ends) await end();
});

/** Fewer than the queue of SQL takes. */
const CONCURRENT = 16;

test.each(WAYS.map((way) => [nameOf(way), way] as const))('%s has its outcome for every caller', async (_name, way) => {
  const strangers = outcomesOfStrangers(way);
  const callers: [string, TestCaller][] = [...Object.entries(EVERY_CALLER), ...Object.entries(elsewhere)];
  const cells: Cell[] = [
    ['nothing', undefined, strangers.none],
    ...Object.entries(REFUSED).map(([what, value]): Cell => [what, value, strangers.wrong]),
    ...Object.entries(ACCEPTED).map(([what, value]): Cell => [what, value, outcomeFor(way, CALLERS.all)]),
    ...callers.map(([what, caller]): Cell => [what, bearer(caller.token), outcomeFor(way, caller)]),
  ];
  const outcomes: (readonly [string, string])[] = [];
  for (let i = 0; i < cells.length; i += CONCURRENT) {
    const sent = cells
      .slice(i, i + CONCURRENT)
      .map(async ([what, value]) => [what, await way.send(target, value)] as const);
    outcomes.push(...(await Promise.all(sent)));
  }
  expect(outcomes).toEqual(cells.map(([what, , outcome]) => [what, outcome]));
});

test.each([
  ['--print-config', {}],
  ['a configuration with problems', { SERVICE_GRPC_PORT: 'x' }],
  ['credentials in the URL of the keys', { SERVICE_AUTH_JWKS: 'https://ada:planted@login.example.com/jwks' }],
  ['credentials in the URL of the database', { SERVICE_TSDB_HTTP_URL: 'http://ada:planted@db.example.com:9000' }],
  ['a callers file with a token in place of its hash', { SERVICE_AUTH_CALLERS_FILE: 'hash = "planted"' }],
  ['a callers file that is not TOML', { SERVICE_AUTH_CALLERS_FILE: 'hash = planted' }],
])('%s shows no secret', async (what, env: Readonly<Record<string, string>>) => {
  const { SERVICE_AUTH_CALLERS_FILE: text, ...others } = env;
  const files =
    text === undefined ? {} : { SERVICE_AUTH_CALLERS_FILE: testFile('callers.toml', `[[token]]\n${text}\n`) };
  const args = what === '--print-config' ? [what] : [];
  const { stdout, stderr } = await runToEnd(args, {
    SERVICE_TSDB_HTTP_URL: 'http://127.0.0.1:1',
    SERVICE_TSDB_TOKEN: 'planted-token',
    ...(text === undefined && { SERVICE_AUTH_JWT_ISSUER: 'x', SERVICE_AUTH_JWT_AUDIENCE: 'x' }),
    ...others,
    ...files,
  });
  expect(`${stdout}${stderr}`).not.toBe('');
  expect(`${stdout}${stderr}`).not.toContain('planted');
});

const ROWS = 400_000;
const MAX_REVOCATION_MS = 5000;

function replaceCallers(file: string, callers: Readonly<Record<string, TestCaller>>): void {
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
    info({ url, channel, ticket: nothing, query: nothing, update: nothing, insert: nothing }, authorization).then(
      (code) => code === 'ok',
    ),
  ]);
}

test('a revoked token is refused within 5 s over every protocol, and its running response finishes', async () => {
  const kept = createCaller('alpha', ['read', 'write']);
  const leaked = createCaller('alpha', ['read']);
  const file = testFile('callers.toml', callersFileOf({ kept, leaked }));
  const server = await startProcess({ env: { SERVICE_AUTH_CALLERS_FILE: file } });
  const body = `id,text\n${Array.from({ length: ROWS }, (_, i) => `${i},${'x'.repeat(40)}`).join('\n')}\n`;
  const headers = { authorization: bearer(kept.token), 'content-type': 'text/csv' };
  const put = await fetch(`${server.url}/frames/long`, { method: 'PUT', body, headers });
  expect(put.status).toBe(201);

  const channel = createChannel(server.grpcAddress);
  onTestFinished(() => channel.close());
  expect(await accepted(server, channel, leaked)).toEqual([true, true, true]);
  const running = await server.fetch('/exp?handle=long&fmt=ndjson', {
    headers: { authorization: bearer(leaked.token), 'accept-encoding': 'identity' },
  });
  const reader = running.body?.getReader();
  const first = await reader?.read();
  let text = Buffer.from(first?.value ?? new Uint8Array(0)).toString('latin1');

  replaceCallers(file, { kept });
  const startMs = performance.now();
  await expect.poll(() => accepted(server, channel, leaked), { interval: 50 }).toEqual([false, false, false]);
  expect(performance.now() - startMs).toBeLessThan(MAX_REVOCATION_MS);
  expect(await accepted(server, channel, kept)).toEqual([true, true, true]);

  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    text += Buffer.from(next.value).toString('latin1');
  }
  expect(text.trimEnd().split('\n').length).toBe(ROWS);
});
