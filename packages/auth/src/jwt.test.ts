import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createTestAuthority } from '../../../tools/test-certificates.js';
import { openAuthenticator } from './authenticator.ts';
import { createToken, formatToken, hashSecret } from './callers-file.ts';
import { createJwtVerifier, type KeySet, openKeySet } from './jwt.ts';
import type { AuthEvent } from './watch-files.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');
const SECONDS = NOW / 1000;
const RULES = { issuer: 'https://login.example.com', audience: 'svc' };
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA'] as const;

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;
const pairs = new Map<string, Pair>();
let stranger: Pair;
beforeAll(async () => {
  for (const alg of [...ALGORITHMS, 'PS256', 'ES384'])
    pairs.set(alg, await generateKeyPair(alg, { extractable: true }));
  stranger = await generateKeyPair('ES256', { extractable: true });
});

const pairOf = (alg: string): Pair => pairs.get(alg) ?? stranger;

async function keySet(names: readonly string[] = ALGORITHMS) {
  const keys = names.map(async (alg) => ({ ...(await exportJWK(pairOf(alg).publicKey)), kid: alg }));
  return JSON.stringify({ keys: await Promise.all(keys) });
}

const CLAIMS = { sub: 'ada', iss: RULES.issuer, aud: 'svc', exp: SECONDS + 60, tenant: 'alpha', permissions: ['read'] };

interface SignOptions {
  readonly alg?: string;
  readonly kid?: string;
  readonly pair?: Pair;
}

function sign(changes: Readonly<Record<string, unknown>> = {}, options: SignOptions = {}): Promise<string> {
  const { alg = 'ES256', kid = alg, pair = pairOf(alg) } = options;
  return new SignJWT({ ...CLAIMS, ...changes }).setProtectedHeader({ alg, kid }).sign(pair.privateKey);
}

async function open(text: string, extra: { readonly claims?: boolean; readonly callersFile?: string } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-jwt-'));
  const jwks = join(folder, 'jwks.json');
  await writeFile(jwks, text);
  const names = extra.claims === true ? { tenantClaim: 'org', permissionsClaim: 'scope' } : {};
  const { callersFile } = extra;
  const authenticator = await openAuthenticator({
    jwt: { jwks, ...RULES, ...names },
    callersFile,
    pollMs: 10,
    now: () => NOW,
  });
  onTestFinished(async () => {
    authenticator.close();
    await rm(folder, { recursive: true });
  });
  const ask = async (jwt: string, connection?: object) => {
    try {
      return await authenticator.authenticate({ authorization: `Bearer ${jwt}`, connection });
    } catch (error) {
      expect(error).toMatchObject({ code: 'unauthenticated' });
      return error instanceof Error ? error.message : '';
    }
  };
  return { jwks, ask };
}

test.each(ALGORITHMS)('a JWT signed with %s is accepted', async (alg) => {
  const { ask } = await open(await keySet());
  expect(await ask(await sign({}, { alg }))).toEqual({
    id: 'jwt:ada',
    tenant: 'alpha',
    permissions: new Set(['read']),
  });
});

test.each([
  [
    ['read', 'write'],
    ['read', 'write'],
  ],
  ['openid read  tsdb profile', ['read', 'tsdb']],
  [['root', 7], []],
  [undefined, []],
  [{ read: true }, []],
])('the permissions %j are %j', async (scope, permissions) => {
  const { ask } = await open(await keySet(), { claims: true });
  const jwt = await sign({ org: 'beta', scope });
  expect(await ask(jwt)).toEqual({ id: 'jwt:ada', tenant: 'beta', permissions: new Set(permissions) });
});

const NO_KEY = 'The JWT is not signed by a known key with RS256, ES256, EdDSA.';

describe('a JWT is refused:', () => {
  test.each<[string, () => Promise<string> | string, string]>([
    ['expired', () => sign({ exp: SECONDS - 31 }), 'The JWT has expired.'],
    ['without an expiry', () => sign({ exp: undefined }), 'The claim exp of the JWT is not accepted.'],
    ['not valid yet', () => sign({ nbf: SECONDS + 31 }), 'The claim nbf of the JWT is not accepted.'],
    ['of another issuer', () => sign({ iss: 'https://evil.example.com' }), 'The claim iss of the JWT is not accepted.'],
    ['without an issuer', () => sign({ iss: undefined }), 'The claim iss of the JWT is not accepted.'],
    ['for another audience', () => sign({ aud: 'other' }), 'The claim aud of the JWT is not accepted.'],
    ['without an audience', () => sign({ aud: undefined }), 'The claim aud of the JWT is not accepted.'],
    ['without a tenant', () => sign({ tenant: undefined }), 'The claim tenant of the JWT is not the name of a tenant.'],
    [
      'with a path as tenant',
      () => sign({ tenant: '../x' }),
      'The claim tenant of the JWT is not the name of a tenant.',
    ],
    ['with alg none', () => new UnsecuredJWT(CLAIMS).encode(), NO_KEY],
    ['of an unknown kid', () => sign({}, { kid: 'other' }), NO_KEY],
    ['of another key', () => sign({}, { pair: stranger }), NO_KEY],
    ['with PS256', () => sign({}, { alg: 'PS256', kid: 'RS256' }), NO_KEY],
    ['with ES384', () => sign({}, { alg: 'ES384', kid: 'ES256' }), NO_KEY],
    ['with a cut signature', async () => (await sign()).slice(0, -4), NO_KEY],
    [
      'with other claims',
      async () => {
        const [head, , signature] = (await sign()).split('.');
        return [head, Buffer.from(JSON.stringify({ ...CLAIMS, tenant: 'beta' })).toString('base64url'), signature].join(
          '.',
        );
      },
      NO_KEY,
    ],
    ['with nonsense inside', () => 'a.b.c', NO_KEY],
    ['oversized', () => sign({ filler: 'x'.repeat(17_000) }), 'The credentials are too long.'],
  ])('%s', async (_what, make, message) => {
    const { ask } = await open(await keySet());
    const jwt = await make();
    // Twice: a refusal must not depend on what is remembered.
    expect([await ask(jwt), await ask(jwt)]).toEqual([message, message]);
  });

  test('with HS256 and the public key as the secret', async () => {
    const { ask } = await open(await keySet());
    for (const secret of [
      await exportSPKI(pairOf('RS256').publicKey),
      JSON.stringify(await exportJWK(pairOf('RS256').publicKey)),
    ]) {
      const header = { alg: 'HS256', kid: 'RS256' };
      const jwt = await new SignJWT(CLAIMS).setProtectedHeader(header).sign(Buffer.from(secret));
      expect(await ask(jwt)).toBe(NO_KEY);
    }
  });
});

test.each([
  ['just expired', { exp: SECONDS - 29 }],
  ['valid in a moment', { nbf: SECONDS + 29 }],
])('a JWT that is %s is accepted: clocks differ by up to 30 s', async (_what, changes) => {
  const { ask } = await open(await keySet());
  expect(await ask(await sign(changes))).toMatchObject({ tenant: 'alpha' });
});

test('a token works beside JWTs, and a wrong one is not taken for a JWT', async () => {
  const token = createToken();
  const folder = await mkdtemp(join(tmpdir(), 'svc-jwt-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const callersFile = join(folder, 'callers.toml');
  await writeFile(
    callersFile,
    `[[token]]\nid = "${token.id}"\nhash = "${hashSecret(token.secret)}"\ntenant = "beta"\npermissions = ["read"]\n`,
  );
  const { ask } = await open(await keySet(), { callersFile });
  expect(await ask(formatToken(token))).toMatchObject({ tenant: 'beta' });
  expect(await ask(await sign())).toMatchObject({ tenant: 'alpha' });
  expect(await ask(formatToken({ ...token, secret: 'x'.repeat(43) }))).toBe('The token is unknown, wrong or revoked.');
});

test('a file of keys that changes is read again: JWTs of removed keys are refused, also remembered ones', async () => {
  const { jwks, ask } = await open(await keySet(['ES256']));
  const old = await sign();
  const connection = {};
  expect(await ask(old)).toMatchObject({ tenant: 'alpha' });
  expect(await ask(old, connection)).toMatchObject({ tenant: 'alpha' });
  await writeFile(jwks, await keySet(['EdDSA']));
  await expect.poll(() => ask(old)).toBe(NO_KEY);
  expect(await ask(old, connection)).toBe(NO_KEY);
  expect(await ask(await sign({}, { alg: 'EdDSA' }))).toMatchObject({ tenant: 'alpha' });
  await writeFile(jwks, '{"keys":[]}');
  expect(await ask(await sign({ sub: 'other' }, { alg: 'EdDSA' }))).toMatchObject({ tenant: 'alpha' });
});

test.each([
  ['missing', undefined, 'There is no such file.'],
  ['not JSON', '{', 'It is not JSON.'],
  ['not a key set', '{}', 'It is not a JSON Web Key Set with at least one key.'],
])('a file of keys that is %s at the start is an error that names it', async (_what, text, reason) => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-jwt-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const jwks = join(folder, 'jwks.json');
  if (text !== undefined) await writeFile(jwks, text);
  await expect(openAuthenticator({ jwt: { jwks, ...RULES } })).rejects.toThrow(`"${jwks}" cannot be used. ${reason}`);
});

test('a verified JWT is remembered until it expires, and verified once', async () => {
  let now = NOW;
  const { publicKey } = pairOf('ES256');
  const current = vi.fn<KeySet['current']>(async () => publicKey);
  const keys: KeySet = { current, refresh: async () => false, close: () => undefined };
  const verify = createJwtVerifier(keys, RULES, () => now);
  const jwt = await sign();
  const first = await verify(jwt);
  expect(verify(jwt)).toBe(first);
  expect(current).toHaveBeenCalledOnce();
  now += 91_000;
  await expect(verify(jwt)).rejects.toThrow('The JWT has expired.');
});

test('the cache of verified JWTs has digests as its keys, not the JWTs', async () => {
  const set = vi.spyOn(Map.prototype, 'set');
  onTestFinished(() => set.mockRestore());
  const { ask } = await open(await keySet());
  const jwt = await sign();
  set.mockClear();
  expect(await ask(jwt)).toMatchObject({ tenant: 'alpha' });
  const keys = set.mock.calls.map(([key]) => JSON.stringify(key));
  expect(keys.length).toBeGreaterThan(0);
  for (const part of jwt.split('.')) expect(keys.filter((key) => key?.includes(part))).toEqual([]);
});

test.each([
  [
    'too short',
    async () => ({
      ...(await exportJWK((await generateKeyPair('RS256', { modulusLength: 2048 })).publicKey)),
      n: 'AQAB',
    }),
  ],
  ['not on its curve', async () => ({ ...(await exportJWK(stranger.publicKey)), x: 'AAAA' })],
])('a JWT that names a key that is %s is refused, not an internal error', async (_what, make) => {
  const { ask } = await open(JSON.stringify({ keys: [{ ...(await make()), kid: 'bad', alg: undefined }] }));
  for (const alg of ['RS256', 'ES256']) expect(await ask(await sign({}, { alg, kid: 'bad' }))).toBe(NO_KEY);
});

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

async function openKeys(source: string, ca: string | undefined = authority.cert) {
  const clock = { nowMs: 0 };
  const events: AuthEvent[] = [];
  const keys = await openKeySet({ source, ca, onEvent: (event) => events.push(event), now: () => clock.nowMs });
  return { keys, clock, events };
}

test('keys are fetched again for an unknown key, at most once in 30 s', async () => {
  const { source, requests } = await serveKeys();
  const { keys, clock, events } = await openKeys(source);
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
  const { keys, clock, events } = await openKeys(source);
  const before = keys.current;
  Object.assign(answer, broken);
  clock.nowMs = 30_000;
  expect(await keys.refresh()).toBe(false);
  expect(keys.current).toBe(before);
  expect(events).toEqual([{ kind: 'keys_refused', source, reason }]);
  await expect(openKeys(source)).rejects.toThrow(`The keys at ${source} cannot be loaded. ${reason}`);
});

test('a server of another authority is not trusted', async () => {
  const { source, requests } = await serveKeys();
  await expect(openKeys(source, (await createTestAuthority()).cert)).rejects.toThrow('cannot be loaded');
  expect(requests()).toBe(0);
});
