import { writeFile } from 'node:fs/promises';
import { FrameServiceDefinition } from '@svc/proto';
import { type Channel, ChannelCredentials, createChannel, createClient, Metadata } from 'nice-grpc';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createTestAuthority } from '../../../tools/test-certificates.js';
import { bearer, CALLERS, callersFileOf } from './callers.ts';
import { type ServerProcess, startProcess, testFile } from './server-process.ts';
import { connectTls, fetchTls } from './tls-client.ts';

const authority = await createTestAuthority('Servers');
const clients = await createTestAuthority('Clients');
const ca = authority.cert;
const own = await authority.issue(['localhost', '127.0.0.1']);
const reader = await clients.issue(['spiffe://example.com/reader']);
const admin = await clients.issue([], { commonName: 'operator' });
const stranger = await clients.issue(['spiffe://example.com/other']);
const foreign = await (await createTestAuthority('Others')).issue(['spiffe://example.com/reader']);
// Its issuer has the name of the right one, but not its key.
const forged = await (await createTestAuthority('Clients')).issue(['spiffe://example.com/reader']);

const ROWS = `
[[certificate]]
subject = "spiffe://example.com/reader"
tenant = "beta"
permissions = ["read"]

[[certificate]]
subject = "operator"
tenant = "alpha"
permissions = ["admin"]
`;

const callers = testFile('callers.toml', callersFileOf(CALLERS) + ROWS);
const env = {
  SERVICE_TLS_CERT_FILE: testFile('cert.pem', own.cert),
  SERVICE_TLS_KEY_FILE: testFile('key.pem', own.key),
  SERVICE_TLS_CLIENT_CA_FILE: testFile('ca.pem', clients.cert),
  SERVICE_AUTH_CALLERS_FILE: callers,
};

let server: ServerProcess;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  server = await startProcess({ env, onEnd: (end) => void ends.push(end) });
  const put = await fetchTls(server, '/frames/shown', {
    ca,
    method: 'PUT',
    headers: { authorization: bearer(CALLERS.beta.token), 'content-type': 'application/json' },
    body: '[{"id":1}]',
  });
  expect(put.status).toBe(201);
});

afterAll(async () => {
  for (const end of ends) await end();
});

type Certified = typeof reader;

/** The code of the refusal, or the handles that the caller sees. */
async function listOverHttp(certified: Certified | undefined, authorization?: string): Promise<unknown> {
  const { body } = await fetchTls(server, '/frames', {
    ca,
    ...certified,
    ...(authorization !== undefined && { headers: { authorization } }),
  });
  const parsed = JSON.parse(body.toString()) as { code?: string; error?: string; frames?: { handle: string }[] };
  return parsed.frames?.map(({ handle }) => handle) ?? [parsed.code, parsed.error];
}

function channelOf(certified: Certified | undefined, address = server.grpcAddress): Channel {
  const [key, cert] = certified === undefined ? [] : [Buffer.from(certified.key), Buffer.from(certified.cert)];
  const channel = createChannel(address, ChannelCredentials.createSsl(Buffer.from(ca), key, cert));
  onTestFinished(() => channel.close());
  return channel;
}

async function listOverGrpc(certified: Certified | undefined, authorization?: string): Promise<unknown> {
  const client = createClient(FrameServiceDefinition, channelOf(certified));
  const metadata = new Metadata(authorization === undefined ? {} : { authorization });
  try {
    const { frames } = await client.listFrames({}, { metadata });
    return frames?.map(({ handle }) => handle);
  } catch (error) {
    return [
      error instanceof Error && 'code' in error && error.code === 16 ? 'unauthenticated' : error,
      String(error).replace(/^.*UNAUTHENTICATED: /, ''),
    ];
  }
}

const NONE = ['unauthenticated', 'The request has no credentials.'];
const WRONG = ['unauthenticated', 'The token is unknown, wrong or revoked.'];

describe.each([
  ['HTTP', listOverHttp],
  ['gRPC', listOverGrpc],
])('over %s', (_name, list) => {
  test.each([
    ['nothing', undefined, undefined, NONE],
    ['the certificate of a caller', reader, undefined, ['shown']],
    [
      'a certificate of no caller',
      stranger,
      undefined,
      ['unauthenticated', 'The client certificate belongs to no caller.'],
    ],
    [
      'a certificate of an unknown authority',
      foreign,
      undefined,
      ['unauthenticated', 'The client certificate is not valid ('],
    ],
    [
      'a certificate that only names a known authority',
      forged,
      undefined,
      ['unauthenticated', 'The client certificate is not valid ('],
    ],
    ['a token and such a certificate', forged, bearer(CALLERS.beta.token), ['shown']],
    ['a token and no certificate', undefined, bearer(CALLERS.beta.token), ['shown']],
    ['a token and the certificate of no caller', stranger, bearer(CALLERS.beta.token), ['shown']],
    ['a wrong token and the certificate of a caller', reader, 'Bearer svc_nonsense', WRONG],
    [
      'no token in Bearer and the certificate of a caller',
      reader,
      'Bearer',
      ['unauthenticated', 'The credentials are neither'],
    ],
  ])('%s', async (_what, certified, authorization, expected) => {
    const outcome = await list(certified, authorization);
    expect(outcome).toEqual(expected.map((text) => expect.stringContaining(text)));
  });
});

test('the permissions of a certificate count: a reader cannot write, an operator sees the details of /health', async () => {
  const put = await fetchTls(server, '/frames/x?fmt=csv', { ca, ...reader, method: 'PUT', body: 'a\n1\n' });
  expect([put.status, JSON.parse(put.body.toString())]).toMatchObject([403, { code: 'permission_denied' }]);
  const health = async (certified?: Certified) =>
    Object.keys(JSON.parse((await fetchTls(server, '/health', { ca, ...certified })).body.toString()));
  expect(await health()).toEqual(['status']);
  expect(await health(stranger)).toEqual(['status']);
  expect(await health(admin)).toContain('parts');
});

test('required certificates: a connection without a valid one is closed, one with it is not', async () => {
  const strict = await startProcess({ env: { ...env, SERVICE_TLS_CLIENT_CERTIFICATES: 'required' } });
  for (const certified of [undefined, foreign, forged]) {
    await expect(fetchTls(strict, '/ping', { ca, ...certified })).rejects.toThrow();
    const client = createClient(FrameServiceDefinition, channelOf(certified, strict.grpcAddress));
    await expect(client.listFrames({})).rejects.toThrow('UNAVAILABLE');
  }
  expect((await fetchTls(strict, '/ping', { ca, ...stranger })).status).toBe(200);
  const client = createClient(FrameServiceDefinition, channelOf(reader, strict.grpcAddress));
  expect(await client.listFrames({})).toMatchObject({ frames: [] });
});

test(
  'a certificate that is removed from the callers file is refused on an open connection',
  { tags: ['slow'] },
  async () => {
    const socket = await connectTls(server.port, { ca, ...reader });
    const ask = async (): Promise<string> => {
      socket.write('GET /frames HTTP/1.1\r\nhost: localhost\r\n\r\n');
      return new Promise((resolve) => socket.once('data', (bytes: Buffer) => resolve(bytes.toString().slice(9, 12))));
    };
    expect(await ask()).toBe('200');
    await writeFile(callers, callersFileOf(CALLERS));
    await expect.poll(ask, { timeout: 5000 }).toBe('401');
  },
);
