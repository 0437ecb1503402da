import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { startProcess, tomlFile } from './server-process.ts';

/** One request of a client, and what became of it. */
interface Visit {
  readonly handle: string;
  /** When the client had its connection; Infinity if it was refused one. */
  readonly connectedAt: number;
  /** `answered`: the whole response arrived. `cut`: a part of it. `unanswered`: not a byte, so the client may retry. */
  readonly outcome: 'answered' | 'cut' | 'unanswered' | 'refused';
  /** Undefined if there was no response. */
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
  /** The number of writers of new frames, and of readers of one frame. */
  readonly clientsOfEach: number;
  /** The rows of the frame that is read. */
  readonly rows: number;
  readonly drainDelayMs: number;
}

/**
 * Stops a server while clients send one request after another. They obey `Connection: close` and come back. Expects exit
 * code 0 before the end of the grace period, no request cut, none refused before the end of the delay, and every
 * acknowledged write on disk.
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
  const put = await server.fetch('/frames/big', { method: 'PUT', body, headers: { 'content-type': 'text/csv' } });
  expect(put.status).toBe(201);
  const { visits, allRefused } = startClients(server.port, clientsOfEach);
  await expect.poll(() => visits.length).toBeGreaterThan(3 * clientsOfEach);
  const logged = server.log.length;
  const delayEndsAt = performance.now() + drainDelayMs;
  server.child.kill('SIGTERM');
  expect(await server.exited).toEqual({ code: 0, signal: null });
  await allRefused;

  // At the end of the grace period, or later, the server logs more.
  const log = server.log.slice(logged).map(({ message }) => message);
  expect(log.filter((message) => message !== 'frame_put')).toEqual(['draining', 'stopping', 'stopped']);
  const isGood = ({ outcome, status, connectedAt }: Visit): boolean => {
    if (outcome === 'answered') return status === 200 || status === 201;
    return connectedAt > delayEndsAt && (outcome === 'refused' || outcome === 'unanswered');
  };
  expect(visits.filter((visit) => !isGood(visit))).toEqual([]);
  // After the delay, the system resets connections that arrive between the last accept and the close; most are refused.
  expect(visits.filter(({ outcome }) => outcome === 'unanswered').length).toBeLessThan(clientsOfEach);
  const next = await startProcess({ env });
  const { frames } = (await (await next.fetch('/frames')).json()) as { frames: { handle: string }[] };
  const acknowledged = visits.filter(({ outcome }) => outcome === 'answered').map(({ handle }) => handle);
  expect(frames.map(({ handle }) => handle)).toEqual(expect.arrayContaining([...new Set(acknowledged)]));
}

/** Starts clients with one connection each. They stop when they are refused a connection. */
function startClients(port: number, ofEach: number): { visits: readonly Visit[]; allRefused: Promise<unknown> } {
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
      if (connectedAt === Infinity) end('refused', code);
      else end(status === undefined ? 'unanswered' : 'cut', code);
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
