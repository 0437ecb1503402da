import { once } from 'node:events';
import { rename, writeFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { connect as connectPlain, type Socket } from 'node:net';
import { FrameServiceDefinition, HealthDefinition } from '@svc/proto';
import { type Channel, ChannelCredentials, createChannel, createClient } from 'nice-grpc';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createTestAuthority } from '../../../tools/test-certificates.js';
import { runToEnd, sendRaw, type ServerProcess, startProcess, testFile } from './server-process.ts';
import { certificateOf, connectTls, fetchTls } from './tls-client.ts';

const authority = await createTestAuthority();
const { cert, key } = await authority.issue(['localhost', '127.0.0.1']);
const other = await authority.issue(['other.example']);
const ca = authority.cert;

function tlsSettings(files: { readonly cert: string; readonly key: string }) {
  return {
    SERVICE_TLS_CERT_FILE: testFile('cert.pem', files.cert),
    SERVICE_TLS_KEY_FILE: testFile('key.pem', files.key),
  };
}

const settings = tlsSettings({ cert, key });
let server: ServerProcess;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  server = await startProcess({
    args: ['--log-level', 'debug'],
    env: settings,
    onEnd: (end) => void ends.push(end),
  });
});

afterAll(async () => {
  for (const end of ends) await end();
});

const grpcPort = () => Number(server.grpcAddress.split(':')[1]);

function openChannel(credentials: ChannelCredentials): Channel {
  const channel = createChannel(server.grpcAddress, credentials);
  onTestFinished(() => channel.close());
  return channel;
}

/** Sends a request, reads the answer, and resolves when the server has given up waiting for the end of this side. */
async function untilDisconnected(socket: Socket): Promise<void> {
  socket.resume().write('GET / HTTP/1.1\r\n\r\n');
  await once(socket, 'end');
  // A write fails as soon as the server has closed its side, too.
  const writing = setInterval(() => socket.write('x'), 50);
  await expect(once(socket, 'close')).rejects.toThrow(/EPIPE|ECONNRESET/);
  clearInterval(writing);
}

describe('both listeners with TLS', () => {
  test('answer over HTTP, and the line of the start names https', async () => {
    expect(server.url).toMatch(/^https:/);
    const { status, body } = await fetchTls(server, '/ping', { ca });
    expect([status, body.toString()]).toEqual([200, 'ok']);
  });

  test('answer over gRPC', async () => {
    const channel = openChannel(ChannelCredentials.createSsl(Buffer.from(ca)));
    expect(await createClient(HealthDefinition, channel).check({})).toMatchObject({ status: 1 });
    expect(await createClient(FrameServiceDefinition, channel).listFrames({})).toMatchObject({ frames: [] });
  });

  test('send a long response complete', { tags: ['slow'] }, async () => {
    const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, text: `row ${id} ${'x'.repeat(id % 40)}` }));
    const put = await fetchTls(server, '/frames/long', {
      ca,
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(rows),
    });
    expect(put.status).toBe(201);
    const { body } = await fetchTls(server, '/exp?handle=long&fmt=ndjson', { ca });
    expect(
      body
        .toString()
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual(rows);
  });

  test.each([
    ['HTTP', () => server.port],
    ['gRPC', grpcPort],
  ])('are not trusted without their authority: %s', async (_name, port) => {
    await expect(connectTls(port(), {})).rejects.toThrow('unable to verify');
  });
});

describe('a client that does not speak TLS', () => {
  test.each(['GET /ping HTTP/1.1\r\nhost: localhost\r\n\r\n', 'DELETE /frames/x HTTP/1.1\r\nhost: localhost\r\n\r\n'])(
    'gets a 400 that says so over HTTP: %j',
    async (request) => {
      const response = await sendRaw(server.port, request);
      expect(response).toMatch(/^HTTP\/1\.1 400 /);
      expect(JSON.parse(response.slice(response.indexOf('{')))).toMatchObject({
        code: 'invalid_argument',
        error: 'This port speaks TLS, and the request is plain HTTP.',
        hint: 'Write https:// instead of http://.',
      });
    },
  );

  test('is disconnected, even if it does not close its side', async () => {
    const socket = connectPlain({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
    await untilDisconnected(socket.on('error', () => undefined));
  });

  test('is disconnected over gRPC, and the reason is in the log of the level debug', async () => {
    const count = () => server.log.filter(({ message }) => message === 'tls_handshake_failed').length;
    const before = count();
    expect(await sendRaw(grpcPort(), 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')).toBe('');
    await expect.poll(count).toBe(before + 1);
  });

  test.each([
    ['nothing', ''],
    ['noise', 'x'.repeat(10_000)],
    ['half a handshake', Buffer.from('160301020001', 'hex')],
  ])('and sends %s leaves no line in the log but of debug, and no harm', async (_what, bytes) => {
    for (const port of [server.port, grpcPort()]) {
      const socket = connectPlain(port, '127.0.0.1');
      await once(socket, 'connect');
      socket
        .on('error', () => undefined)
        .resume()
        .end(bytes);
      await once(socket, 'close');
    }
    expect((await fetchTls(server, '/ping', { ca })).status).toBe(200);
    expect(server.log.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

test('HTTP/1.1 to the gRPC port, with TLS or without, is answered with the port for it', async () => {
  const request = 'GET / HTTP/1.1\r\nhost: localhost\r\n\r\n';
  const socket = await connectTls(grpcPort(), { ca });
  socket.write(request);
  const [bytes] = await once(socket, 'data');
  for (const answer of [String(bytes), await sendRaw(grpcPort(), request)]) {
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain(`Send HTTP requests to port ${server.port}, with https.`);
  }
});

test('a client that chooses no protocol leaves the gRPC port, even if it does not close its side', async () => {
  const below = connectPlain({ port: grpcPort(), host: '127.0.0.1', allowHalfOpen: true });
  await untilDisconnected(await connectTls(grpcPort(), { ca, socket: below }));
});

test('tls.min_version refuses older versions on both ports', { tags: ['slow'] }, async () => {
  const strict = await startProcess({ env: { ...tlsSettings({ cert, key }), SERVICE_TLS_MIN_VERSION: '1.3' } });
  for (const port of [strict.port, Number(strict.grpcAddress.split(':')[1])]) {
    await expect(connectTls(port, { ca, maxVersion: 'TLSv1.2' })).rejects.toThrow('protocol version');
    expect((await connectTls(port, { ca })).getProtocol()).toBe('TLSv1.3');
  }
});

test('a stop closes connections in the middle of their handshake', { tags: ['slow'] }, async () => {
  const { child, port, grpcAddress, exited } = await startProcess({ env: tlsSettings({ cert, key }) });
  const sockets = [port, Number(grpcAddress.split(':')[1])].map((at) => connectPlain(at, '127.0.0.1'));
  await Promise.all(
    sockets.map((socket) =>
      once(
        socket.on('error', () => undefined),
        'connect',
      ),
    ),
  );
  child.kill('SIGTERM');
  expect(await exited).toEqual({ code: 0, signal: null });
});

describe('the server does not start', () => {
  const missing = { SERVICE_TLS_CERT_FILE: '/nowhere/cert.pem', SERVICE_TLS_KEY_FILE: '/nowhere/key.pem' };
  test.each([
    ['a missing certificate', missing, 'tls.cert_file', 'There is no such file.'],
    ['the key of another', tlsSettings({ cert, key: other.key }), 'tls.key_file', 'It is not the key of'],
    [
      'no authority for clients',
      { ...tlsSettings({ cert, key }), SERVICE_TLS_CLIENT_CA_FILE: testFile('ca.pem', key) },
      'tls.client_ca_file',
      'It does not contain a PEM certificate.',
    ],
  ])('with %s: exit code 2, the setting and a hint', async (_what, env, setting, reason) => {
    const { code, stderr } = await runToEnd([], env);
    expect(code).toBe(2);
    expect(stderr).toContain(reason);
    expect(stderr).toMatch(/Name a PEM file/);
    expect(stderr).toContain(setting.replace('.', '_').toUpperCase());
  });
});

describe('changed files', () => {
  const ports = () => [server.port, grpcPort()];
  const shown = () =>
    Promise.all(ports().map((port) => certificateOf(port, { ca, checkServerIdentity: () => undefined })));
  const isError = ({ level }: { level: string }): boolean => level === 'error';

  test('that do not fit together leave the certificate in use, with an error in the log', async () => {
    await replace(settings.SERVICE_TLS_KEY_FILE, other.key);
    const { message } = await server.logged(isError);
    expect(message).toContain('It is not the key of the certificate');
    expect(message).toContain('The certificate from before stays in use.');
    for (const names of await shown()) expect(names).toContain('DNS:localhost');
    const { parts } = JSON.parse((await fetchTls(server, '/health', { ca })).body.toString());
    expect(parts.tls).toEqual({ status: 'degraded', expires: expect.stringMatching(/^20..-/) });
  });

  test('are used by new connections of both ports, and open ones stay', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const channel = openChannel(ChannelCredentials.createSsl(Buffer.from(ca)));
    const health = createClient(HealthDefinition, channel);
    await fetchTls(server, '/ping', { ca, agent });
    await health.check({});
    await replace(settings.SERVICE_TLS_CERT_FILE, other.cert);
    await expect.poll(shown, { timeout: 5000 }).toEqual(ports().map(() => 'DNS:other.example'));
    // New connections would fail: the certificate is for another host now.
    expect((await fetchTls(server, '/ping', { ca, agent })).status).toBe(200);
    expect(await health.check({})).toMatchObject({ status: 1 });
    await expect(fetchTls(server, '/ping', { ca })).rejects.toThrow('altnames');
  });
});

async function replace(path: string, content: string): Promise<void> {
  await writeFile(`${path}.new`, content);
  await rename(`${path}.new`, path);
}
