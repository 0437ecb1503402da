// The table of ways in with client certificates as the credentials.
import { Agent, request } from 'node:https';
import { once } from 'node:events';
import { type Permission, PERMISSIONS } from '@svc/auth';
import { ChannelCredentials, createChannel } from 'nice-grpc';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestAuthority } from '../../../tools/test-certificates.js';
import { bearer, CALLERS, callersFileOf } from './callers.ts';
import { type ServerProcess, startProcess, testFile } from './server-process.ts';
import { nameOf, type Target, type Way } from './ways-in/way.ts';
import { connectTarget, outcomeFor, outcomesOfStrangers, WAYS } from './ways-in/ways.ts';

const authority = await createTestAuthority('Servers');
const clients = await createTestAuthority('Clients');
const own = await authority.issue(['localhost', '127.0.0.1']);
const ca = authority.cert;

interface Subject {
  readonly name: string;
  readonly tenant: string;
  readonly permissions: readonly Permission[];
}

const subjectOf = (name: string, tenant: string, permissions: readonly Permission[]): Subject => ({
  name: `spiffe://example.com/${name}`,
  tenant,
  permissions,
});

const SUBJECTS: Readonly<Record<string, Subject>> = {
  'all permissions': subjectOf('all', 'alpha', PERMISSIONS),
  'another tenant': subjectOf('beta', 'beta', PERMISSIONS),
  ...Object.fromEntries(
    PERMISSIONS.map((name) => [
      `all but ${name}`,
      subjectOf(
        `not-${name}`,
        'alpha',
        PERMISSIONS.filter((other) => other !== name),
      ),
    ]),
  ),
};

const ROWS = Object.values(SUBJECTS).map(
  ({ name, tenant, permissions }) =>
    `[[certificate]]\nsubject = "${name}"\ntenant = "${tenant}"\npermissions = ${JSON.stringify(permissions)}\n`,
);

type Certified = Awaited<ReturnType<typeof clients.issue>>;

/** Sends HTTP requests over connections with a certificate. */
function fetchWith({ cert, key }: Certified): NonNullable<Target['fetch']> {
  const agent = new Agent({ ca, cert, key, keepAlive: true });
  agents.push(agent);
  return async (url, init) => {
    const { method, headers, body } = new Request(url, init);
    const sent = request(url, { agent, method, headers: Object.fromEntries(headers) });
    sent.end(body === null ? undefined : Buffer.from(await new Response(body).arrayBuffer()));
    const [response] = await once(sent, 'response');
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk);
    const { statusCode: status } = response;
    return new Response(status === 204 || status === 304 ? null : Buffer.concat(chunks), { status });
  };
}

let server: ServerProcess;
let target: Target;
/** For each certificate, the server as its holder reaches it. */
const targets = new Map<string, Target>();
const agents: Agent[] = [];
const ends: (() => Promise<void>)[] = [];

function connectWith(what: string, certified: Certified): void {
  const [key, cert] = [Buffer.from(certified.key), Buffer.from(certified.cert)];
  const channel = createChannel(server.grpcAddress, ChannelCredentials.createSsl(Buffer.from(ca), key, cert));
  targets.set(what, { ...target, channel, fetch: fetchWith(certified) });
}

beforeAll(async () => {
  server = await startProcess({
    args: ['--log-level', 'error'],
    env: {
      SERVICE_TLS_CERT_FILE: testFile('cert.pem', own.cert),
      SERVICE_TLS_KEY_FILE: testFile('key.pem', own.key),
      SERVICE_TLS_CLIENT_CA_FILE: testFile('ca.pem', clients.cert),
      SERVICE_AUTH_CALLERS_FILE: testFile('callers.toml', callersFileOf(CALLERS) + ROWS.join('\n')),
    },
    onEnd: (end) => void ends.push(end),
  });
  const authorization = bearer(CALLERS.all.token);
  const body = '[{"id":1}]';
  const put = fetchWith(await clients.issue(['spiffe://example.com/all']));
  expect((await put(`${server.url}/frames/shown?fmt=json`, { method: 'PUT', body })).status).toBe(201);
  target = await connectTarget(server, authorization, ChannelCredentials.createSsl(Buffer.from(ca)));
  for (const [what, { name }] of Object.entries(SUBJECTS)) connectWith(what, await clients.issue([name]));
  connectWith('an unknown subject', await clients.issue(['spiffe://example.com/unknown']));
  // It has the name of the right authority, but not its key.
  connectWith('a forged one', await (await createTestAuthority('Clients')).issue(['spiffe://example.com/all']));
});

afterAll(async () => {
  for (const { channel } of [target, ...targets.values()]) channel.close();
  for (const agent of agents) agent.destroy();
  for (const end of ends) await end();
});

/** A handshake proves a token: a certificate needs none. */
const isHandshake = ({ entries: [name] }: Way): boolean => name.endsWith('/Handshake');

function outcomeWith(way: Way, what: string): string {
  const subject = SUBJECTS[what];
  return subject === undefined || isHandshake(way) ? outcomesOfStrangers(way).none : outcomeFor(way, subject);
}

test.each(WAYS.map((way) => [nameOf(way), way] as const))(
  '%s has its outcome for every certificate',
  async (_, way) => {
    const outcomes = [...targets].map(async ([what, reached]) => [what, await way.send(reached, undefined)]);
    expect(await Promise.all(outcomes)).toEqual([...targets.keys()].map((what) => [what, outcomeWith(way, what)]));
  },
);

test('a token decides, whatever the certificate', async () => {
  const way = WAYS.find((row) => nameOf(row) === 'GET /frames/:handle');
  for (const reached of targets.values()) {
    expect(await way?.send(reached, bearer(CALLERS.read.token))).toBe('ok');
    expect(await way?.send(reached, bearer(CALLERS.beta.token))).toBe('handle_not_found');
    expect(await way?.send(reached, bearer(CALLERS.expired.token))).toBe('unauthenticated');
  }
});
