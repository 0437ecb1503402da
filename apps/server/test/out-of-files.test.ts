// A server whose clients have taken all its file descriptors.
import { Agent, get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { HealthCheckResponseServingStatus as ServingStatus, HealthDefinition } from '@svc/proto';
import { createChannel, createClient } from 'nice-grpc';
import { expect, onTestFinished, test } from 'vitest';
import { type ServerProcess, startProcess } from './server-process.ts';

const LIMIT = 90;

/** Requests over one connection, kept open from the first request on. */
function createProbe({ port }: ServerProcess): (path: string) => Promise<{ status: number; body: string }> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return (path) =>
    new Promise((resolve, reject) => {
      const request = get({ host: '127.0.0.1', port, path, agent }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (text: string) => (body += text));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
      });
      request.on('error', reject);
    });
}

/** Opens connections that send nothing; the server closes those for which it has no descriptor. */
async function openIdle(port: number, count: number): Promise<readonly Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
  for (const socket of sockets) socket.resume();
  await expect.poll(() => sockets.every((socket) => !socket.connecting)).toBe(true);
  return sockets;
}

const isOfFiles = ({ message }: { readonly message: string }): boolean => message.includes('files and connections');

// Only Linux shows the descriptors of a process.
test.runIf(process.platform === 'linux')(
  'a server without free descriptors warns once, is not ready, counts it, and is ready when clients leave',
  { timeout: 60_000 },
  async () => {
    const server = await startProcess({
      shell: `ulimit -n ${LIMIT}`,
      env: { SERVICE_SERVER_FIRST_REQUEST_TIMEOUT_MS: '600000' },
    });
    const probe = createProbe(server);
    const ready = async () => (await probe('/ready')).status;
    const metric = async (name: string) => {
      const { body } = await probe('/metrics');
      return Number(new RegExp(`^${name} (.*)$`, 'm').exec(body)?.[1]);
    };
    const channel = createChannel(server.grpcAddress);
    onTestFinished(() => channel.close());
    const grpc = createClient(HealthDefinition, channel);
    const grpcStatus = async () => (await grpc.check({})).status;
    expect([await ready(), await grpcStatus()]).toEqual([200, ServingStatus.SERVING]);
    expect([await metric('svc_out_of_files_seconds_total'), await metric('process_max_fds')]).toEqual([0, LIMIT]);

    const sockets = await openIdle(server.port, 150);
    const warning = await server.logged(isOfFiles);
    expect(warning).toMatchObject({
      level: 'warn',
      message: expect.stringMatching(
        /^The server has as many files and connections open as the system allows \(90\)\. .*ulimit -n/,
      ),
      cause: expect.stringContaining('EMFILE'),
    });
    await expect.poll(ready).toBe(503);
    expect(JSON.parse((await probe('/ready')).body)).toMatchObject({
      code: 'unavailable',
      error: 'The server has as many files and connections open as the system allows.',
    });
    const { status, parts } = JSON.parse((await probe('/health')).body) as {
      status: string;
      parts: { store: { faults: unknown[] } };
    };
    expect([status, parts.store.faults]).toMatchObject(['failing', [{ kind: 'out_of_files' }]]);
    expect(await grpcStatus()).toBe(ServingStatus.NOT_SERVING);
    // The state is checked several times, and logged once.
    await expect.poll(() => metric('svc_out_of_files_seconds_total'), { timeout: 20_000 }).toBeGreaterThan(1);
    expect([await metric('process_open_fds'), await metric('svc_ready')]).toEqual([LIMIT, 0]);
    expect(server.log.filter(isOfFiles)).toEqual([warning]);

    for (const socket of sockets) socket.destroy();
    await expect.poll(ready, { timeout: 20_000 }).toBe(200);
    expect(await grpcStatus()).toBe(ServingStatus.SERVING);
    expect((await server.fetch('/exec?query=select%201&engine=local&fmt=json')).status).toBe(200);
    await server.logged(({ level, message }) => level === 'info' && message.startsWith('Files and connections can be'));
    expect(await metric('process_open_fds')).toBeLessThan(LIMIT);

    // A minute has not passed.
    await openIdle(server.port, 150);
    await expect.poll(ready, { timeout: 20_000 }).toBe(503);
    expect(server.log.filter(({ level, message }) => level === 'warn' && isOfFiles({ message }))).toEqual([warning]);
  },
);
