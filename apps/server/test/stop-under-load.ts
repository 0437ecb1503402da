import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { flight } from '@svc/proto';
import { ClientError, createChannel, createClient, Status } from 'nice-grpc';
import { expect, onTestFinished } from 'vitest';
import { type FlightClient, pathOf, put, ticketOf } from './flight-client.ts';
import { type ServerProcess, startProcess, tomlFile } from './server-process.ts';

/** One request or call of a client, and what became of it. */
interface Visit {
  readonly handle: string;
  /** When the client had its connection, or was refused one. For gRPC: when the call began, or was refused a connection. */
  readonly connectedAt: number;
  /** `answered`: the whole response arrived. `cut`: a part of it. `unanswered`: not a byte, so the client may retry. */
  readonly outcome: 'answered' | 'cut' | 'unanswered' | 'refused';
  /** The status of HTTP or gRPC. Undefined if there was no response. */
  readonly status: number | undefined;
  /** The system's name of the failure. */
  readonly code: string | undefined;
}

interface Asked {
  readonly handle: string;
  readonly path: string;
  /** Undefined: a GET. */
  readonly body?: string;
}

/** Enough for a busy machine to answer what it has accepted. */
const GRACE_MS = 30_000;

/** The load during a stop. */
export interface StopLoad {
  /** The number of writers of new frames, and of readers of one frame, over HTTP and over gRPC each. */
  readonly clientsOfEach: number;
  /** The rows of the frame that is read. */
  readonly rows: number;
  readonly drainDelayMs: number;
}

/**
 * Stops a server while clients send one request or gRPC call after another. Those of HTTP obey `Connection: close` and come
 * back. Expects exit code 0 before the end of the grace period, no request or call cut, none refused before the end of the
 * delay, and every acknowledged write on disk.
 */
export async function stopUnderLoad({ clientsOfEach, rows, drainDelayMs }: StopLoad): Promise<void> {
  const dataDir = join(tomlFile(''), '..', 'data');
  const env = {
    SERVICE_DATA_DIR: dataDir,
    SERVICE_SERVER_DRAIN_DELAY_MS: String(drainDelayMs),
    SERVICE_SERVER_SHUTDOWN_GRACE_MS: String(GRACE_MS),
  };
  const server = await startProcess({ env });
  const body = `id,x\n${Array.from({ length: rows }, (_, id) => `${id},${id / 7}`).join('\n')}\n`;
  const stored = await server.fetch('/frames/big', { method: 'PUT', body, headers: { 'content-type': 'text/csv' } });
  expect(stored.status).toBe(201);
  const http = startClients(server.port, clientsOfEach);
  const grpc = await startCallers(server, clientsOfEach);
  await expect.poll(() => http.visits.length).toBeGreaterThan(3 * clientsOfEach);
  await expect.poll(() => grpc.visits.length, { timeout: 10_000 }).toBeGreaterThan(3 * clientsOfEach);
  const logged = server.log.length;
  const delayEndsAt = performance.now() + drainDelayMs;
  server.child.kill('SIGTERM');
  expect(await server.exited).toEqual({ code: 0, signal: null });
  await Promise.all([http.allRefused, grpc.allRefused]);

  // At the end of the grace period, or later, the server logs more.
  const log = server.log.slice(logged).map(({ message }) => message);
  expect(log.filter((message) => message !== 'frame_put')).toEqual(['draining', 'stopping', 'stopped']);
  const visits = [...http.visits, ...grpc.visits];
  const isGood = ({ outcome, status, connectedAt }: Visit): boolean => {
    if (outcome === 'answered') return status === 200 || status === 201 || status === Status.OK;
    return connectedAt > delayEndsAt && (outcome === 'refused' || outcome === 'unanswered');
  };
  expect(visits.filter((visit) => !isGood(visit))).toEqual([]);
  // After the delay, the system resets connections that arrive between the last accept and the close; most are refused.
  expect(http.visits.filter(({ outcome }) => outcome === 'unanswered').length).toBeLessThan(clientsOfEach);
  const next = await startProcess({ env });
  const { frames } = (await (await next.fetch('/frames')).json()) as { frames: { handle: string }[] };
  const acknowledged = visits.filter(({ outcome }) => outcome === 'answered').map(({ handle }) => handle);
  expect(frames.map(({ handle }) => handle)).toEqual(expect.arrayContaining([...new Set(acknowledged)]));
}

/** What clients have seen so far. */
interface Load {
  readonly visits: readonly Visit[];
  readonly allRefused: Promise<unknown>;
}

/** Starts clients with one connection each. They stop when they are refused a connection. */
function startClients(port: number, ofEach: number): Load {
  const visits: Visit[] = [];
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const run = async (next: (turn: number) => Asked): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let turn = 0; !over.signal.aborted; turn += 1) {
      const visit = await ask(port, agent, next(turn));
      visits.push(visit);
      if (visit.outcome === 'refused') break;
    }
    agent.destroy();
  };
  const clients = Array.from({ length: ofEach }, (_, client) => [
    run(() => ({ handle: 'big', path: '/exec?handle=big&fmt=json' })),
    run((turn) => {
      const handle = `w${client}_${turn}`;
      return { handle, path: `/frames/${handle}`, body: JSON.stringify([{ client, turn }]) };
    }),
  ]);
  return { visits, allRefused: Promise.all(clients.flat()) };
}

function ask(port: number, agent: Agent, { handle, path, body }: Asked): Promise<Visit> {
  return new Promise((resolve) => {
    let connectedAt = Infinity;
    let status: number | undefined;
    const end = (outcome: Visit['outcome'], code?: string): void =>
      resolve({ handle, connectedAt, outcome, status, code });
    const method = body === undefined ? 'GET' : 'PUT';
    const headers = { 'content-type': 'application/json' };
    const client = request({ host: '127.0.0.1', port, agent, method, path, headers });
    client.on('socket', (socket) => {
      const connected = (): void => void (connectedAt = performance.now());
      if (socket.connecting) socket.once('connect', connected);
      else connected();
    });
    client.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (connectedAt === Infinity) {
        connectedAt = performance.now();
        end('refused', code);
      } else end(status === undefined ? 'unanswered' : 'cut', code);
    });
    client.on('response', (response) => {
      status = response.statusCode;
      response.on('error', ({ code }: NodeJS.ErrnoException) => end('cut', code));
      response.on('end', () => end('answered'));
      response.resume();
    });
    client.end(body);
  });
}

/** Starts Flight clients with one connection each. They stop when a call is refused. */
async function startCallers({ grpcAddress }: ServerProcess, ofEach: number): Promise<Load> {
  const visits: Visit[] = [];
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const run = async (begin: (client: FlightClient, turn: number, on: Progress) => Promise<void>): Promise<void> => {
    const channel = createChannel(grpcAddress, undefined, { 'grpc.use_local_subchannel_pool': 1 });
    const client = createClient(flight.FlightServiceDefinition, channel);
    for (let turn = 0; !over.signal.aborted; turn += 1) {
      const visit = await call((on) => begin(client, turn, on));
      visits.push(visit);
      if (visit.outcome === 'refused') break;
    }
    channel.close();
  };
  const channel = createChannel(grpcAddress);
  const client = createClient(flight.FlightServiceDefinition, channel);
  const ticket = await ticketOf(client, pathOf('big'));
  const whole = await readBytes(client, ticket, { handle: 'big' });
  channel.close();
  const readers = Array.from({ length: ofEach }, () =>
    run(async (reader, _turn, on) => {
      on.handle = 'big';
      expect(await readBytes(reader, ticket, on)).toBe(whole);
    }),
  );
  const writers = Array.from({ length: ofEach }, (_, number) =>
    run(async (writer, turn, on) => {
      on.handle = `g${number}_${turn}`;
      await put(writer, on.handle, 800);
    }),
  );
  return { visits, allRefused: Promise.all([...readers, ...writers]) };
}

/** A call that runs. */
interface Progress {
  handle: string;
  /** True once a message has arrived. */
  hasBegun?: boolean;
}

async function call(run: (on: Progress) => Promise<void>): Promise<Visit> {
  const began = performance.now();
  const on: Progress = { handle: '' };
  try {
    await run(on);
    return { handle: on.handle, connectedAt: began, outcome: 'answered', status: Status.OK, code: undefined };
  } catch (error) {
    const { code: status, message } =
      error instanceof ClientError ? error : { code: undefined, message: String(error) };
    const isRefused = status === Status.UNAVAILABLE && on.hasBegun !== true;
    // The call may have waited for its connection.
    const connectedAt = message.includes('ECONNREFUSED') ? performance.now() : began;
    return { handle: on.handle, connectedAt, outcome: isRefused ? 'refused' : 'cut', status, code: message };
  }
}

async function readBytes(client: FlightClient, ticket: Uint8Array, on: Progress): Promise<number> {
  let bytes = 0;
  for await (const { dataBody } of client.doGet({ ticket })) {
    on.hasBegun = true;
    bytes += dataBody.length;
  }
  return bytes;
}
