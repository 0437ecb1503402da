// A rollout: after SIGTERM, load balancers see that the server is not ready before it stops accepting connections.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { HealthCheckResponseServingStatus as ServingStatus, HealthDefinition } from '@svc/proto';
import { createChannel, createClient } from 'nice-grpc';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type ServerProcess, startProcess } from './server-process.ts';
import { deferred, startUpstream } from './upstream.ts';

const LONG_MS = 600_000;

function startDraining(drainDelayMs: number, env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
  return startProcess({ env: { SERVICE_SERVER_DRAIN_DELAY_MS: String(drainDelayMs), ...env } });
}

async function drain(server: ServerProcess): Promise<void> {
  server.child.kill('SIGTERM');
  await server.logged((line) => line.message === 'draining');
}

interface Connection {
  /** Sends a request, and resolves with the next response: its status and its header `Connection`. */
  ask(target: string): Promise<[status: number, connection: string | undefined]>;
  /** Resolves with what broke the connection; undefined if the server closed it in order. */
  readonly closed: Promise<string | undefined>;
}

async function open(port: number): Promise<Connection> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  onTestFinished(() => void socket.destroy());
  const closed = new Promise<string | undefined>((resolve) => {
    let problem: string | undefined;
    socket.on('error', (error: NodeJS.ErrnoException) => (problem = error.code ?? error.message));
    socket.on('close', () => resolve(problem));
  });
  await Promise.race([once(socket, 'connect'), closed]);
  return {
    closed,
    async ask(target) {
      let received = '';
      const complete = new Promise<void>((resolve) => {
        const onData = (text: string): void => {
          received += text;
          const [head = '', body] = received.split('\r\n\r\n');
          const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? NaN);
          if (body === undefined || body.length < length) return;
          socket.off('data', onData);
          resolve();
        };
        socket.on('data', onData);
      });
      socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      await Promise.race([complete, closed]);
      const status = Number(/^HTTP\/1\.1 (\d+)/.exec(received)?.[1] ?? 0);
      return [status, /\r\nconnection: ([\w-]+)/i.exec(received)?.[1]];
    },
  };
}

test('50 new connections per second through a SIGTERM: none is refused or reset', { tags: ['slow'] }, async () => {
  const server = await startDraining(2500);
  await server.put('t', [{ id: 1 }]);
  const outcomes: Promise<unknown>[] = [];
  const probe = async (): Promise<number> => (await server.fetch('/ready')).status;
  const visit = async (target: string): Promise<unknown> => {
    const connection = await open(server.port);
    const [status, header] = await connection.ask(target);
    return { status, problem: header === 'close' ? await connection.closed : undefined };
  };
  /** Opens the connections of some time; returns what the probes have seen meanwhile. */
  const everyTwentyMs = async (forMs: number): Promise<ReadonlySet<number>> => {
    const probes: Promise<number>[] = [];
    const startMs = performance.now();
    for (let count = 1; performance.now() - startMs < forMs; count += 1) {
      outcomes.push(visit('/exec?handle=t&fmt=json'));
      if (count % 5 === 0) probes.push(probe());
      await sleep(Math.max(0, startMs + count * 20 - performance.now()));
    }
    return new Set(await Promise.all(probes));
  };
  expect(await everyTwentyMs(500)).toEqual(new Set([200]));
  await drain(server);
  // The listener closes well after the last connection, which a busy machine opens late.
  expect(await everyTwentyMs(1700)).toEqual(new Set([503]));
  expect(outcomes.length).toBeGreaterThan(50);
  for (const outcome of await Promise.all(outcomes)) expect(outcome).toEqual({ status: 200, problem: undefined });
  expect(await server.exited).toEqual({ code: 0, signal: null });
});

test('connections that arrive while the system gives the server no time are answered when the delay has passed', async () => {
  const drainMs = 500;
  const server = await startDraining(drainMs);
  await drain(server);
  server.child.kill('SIGSTOP');
  // The system accepts them.
  const connections = await Promise.all(Array.from({ length: 40 }, () => open(server.port)));
  const answers = connections.map((connection) => connection.ask('/ping'));
  await sleep(drainMs);
  server.child.kill('SIGCONT');
  for (const answer of await Promise.all(answers)) expect(answer).toEqual([200, 'close']);
  for (const { closed } of connections) expect(await closed).toBeUndefined();
  expect(await server.exited).toEqual({ code: 0, signal: null });
});

describe('while the server drains', () => {
  test('probes fail, and everything else works, also over gRPC', { tags: ['slow'] }, async () => {
    const server = await startDraining(LONG_MS);
    const channel = createChannel(server.grpcAddress);
    onTestFinished(() => channel.close());
    const health = createClient(HealthDefinition, channel);
    expect((await health.check({ service: '' })).status).toBe(ServingStatus.SERVING);
    await drain(server);
    for (const path of ['/ready', '/readyz']) {
      const response = await server.fetch(path);
      const body: unknown = await response.json();
      expect([response.status, response.headers.get('connection'), body]).toMatchObject([
        503,
        'close',
        { error: 'The server is draining: it answers requests, and stops soon.', code: 'unavailable' },
      ]);
    }
    const state = await server.fetch('/health');
    expect([state.status, await state.json()]).toMatchObject([503, { status: 'draining' }]);
    expect((await health.check({ service: '' })).status).toBe(ServingStatus.NOT_SERVING);
    for (const path of ['/ping', '/livez', '/frames']) expect((await server.fetch(path)).status).toBe(200);
    expect((await server.put('new', [{ id: 1 }])).status).toBe(201);
  });

  test('connections from before, with and without a request in flight, are closed after their next response', async () => {
    const { promise: isAsked, resolve: asked } = deferred();
    const { promise: mayAnswer, resolve: answer } = deferred();
    const upstream = await startUpstream((_request, response) => {
      asked();
      void mayAnswer.then(() => response.end('ok'));
    });
    const server = await startDraining(LONG_MS, { SERVICE_TSDB_HTTP_URL: upstream.url });
    const [idle, busy] = await Promise.all([open(server.port), open(server.port)]);
    expect(await idle.ask('/ping')).toEqual([200, 'keep-alive']);
    const answered = busy.ask('/exec?query=x&fmt=json');
    await isAsked;
    await drain(server);
    answer();
    expect(await answered).toEqual([200, 'close']);
    expect(await idle.ask('/ping')).toEqual([200, 'close']);
    expect(await Promise.all([idle.closed, busy.closed])).toEqual([undefined, undefined]);
  });

  test(
    'pipelined requests are all answered, and the last response closes the connection',
    { tags: ['slow'] },
    async () => {
      const server = await startDraining(LONG_MS);
      await drain(server);
      const socket = connect(server.port, '127.0.0.1').setEncoding('latin1');
      let received = '';
      socket.on('data', (text: string) => (received += text));
      socket.write('GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(3));
      await once(socket, 'close');
      expect(received.match(/HTTP\/1\.1 200/g)).toHaveLength(3);
      expect(received.match(/^connection: .*$/gim)?.map((line) => line.toLowerCase().trim())).toEqual([
        'connection: keep-alive',
        'connection: keep-alive',
        'connection: close',
      ]);
    },
  );

  test('a second signal exits at once', async () => {
    const server = await startDraining(LONG_MS);
    await drain(server);
    // It counts if it is not at the same time as the first.
    const timer = setInterval(() => server.child.kill('SIGTERM'), 100);
    onTestFinished(() => clearInterval(timer));
    expect(await server.exited).toEqual({ code: 143, signal: null });
  });
});

test('without a drain delay the server stops accepting at once', async () => {
  const server = await startProcess();
  server.child.kill('SIGTERM');
  expect(await server.exited).toEqual({ code: 0, signal: null });
  expect(server.log.map(({ message }) => message)).not.toContain('draining');
});
