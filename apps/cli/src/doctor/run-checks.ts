import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { createServer } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type Address, type Config, formatAddress } from '@svc/config';
import { schedulerCluster } from '@svc/config/internal';
import { createSchedulerEngine } from '@svc/scheduler';
import { createTsdbProxy } from '@svc/tsdb-proxy';
import type { ServerConfig } from '../args/server-config.ts';
import { type ClientOptions, createClient, readResponse, withTimeout } from '../client/client.ts';
import { readHealth } from '../client/requests.ts';
import { SHORT_TABLE } from '../client/server-responses.ts';
import {
  checkCallers,
  checkCertificate,
  checkConfiguration,
  checkDirectories,
  checkNode,
  type Diagnosis,
  failedCheck,
  TIMEOUT_MS,
} from './local-checks.ts';
import { CliError, errorCode } from '../errors.ts';

/** Runs every check, in the order of their dependencies. */
export async function runChecks(loaded: ServerConfig, server: CheckServerOptions): Promise<readonly Diagnosis[]> {
  const { signal } = server.client;
  const { diagnoses, config } = checkConfiguration(loaded);
  const ofConfig =
    config &&
    (await Promise.all([
      checkListeners(config, signal),
      checkDirectories(config),
      checkCallers(config),
      checkCertificate(config),
      checkUpstream(config, signal),
      checkScheduler(config, signal),
    ]));
  return [
    checkNode(process.versions.node),
    ...diagnoses,
    ...(ofConfig?.flat() ?? []),
    // Not concurrent with the listeners: their ports, open for a moment, must not look like the server.
    await checkServer(server),
  ];
}

/** The server to check. */
export interface CheckServerOptions {
  readonly client: ClientOptions;
  /** If the user did not name it, it may simply not be started yet. */
  readonly isNamed: boolean;
  /** The version of `svc`. */
  readonly version: string;
}

/** The server of the other commands must answer and have the same version. */
async function checkServer({ client, isNamed, version }: CheckServerOptions): Promise<Diagnosis> {
  const signal = withTimeout(client.signal, TIMEOUT_MS);
  try {
    const health = await readHealth(createClient({ ...client, signal }));
    if (health.version === undefined) {
      const text = `The server ${client.url} answers: ${health.status}. It needs a token for everything else.`;
      return { status: 'ok', text };
    }
    const text = `The server ${client.url} answers: ${health.status}, version ${health.version}.`;
    if (health.version === version) return { status: 'ok', text };
    return { status: 'warning', text, advice: `This svc has version ${version}: use the same for both.` };
  } catch (error) {
    return failedCheck(isNamed ? 'problem' : 'warning', error);
  }
}

interface Listener {
  readonly protocol: 'HTTP' | 'gRPC';
  readonly address: Address;
  /** The variables for another host and another port. */
  readonly hostVariable: string;
  readonly portVariable: string;
  /** Describes the process on the port, if it is a data-frame server. */
  readonly identify: (address: Address, signal: AbortSignal) => Promise<string | undefined>;
}

/** The ports of both listeners must be free, or held by a data-frame server. */
async function checkListeners({ server, tls }: Config, signal: AbortSignal): Promise<readonly Diagnosis[]> {
  const byCertificate = tls.cert_file === undefined ? undefined : identifyTls(tls.cert_file);
  const listeners: readonly Listener[] = [
    {
      protocol: 'HTTP',
      address: server.http_bind_address,
      hostVariable: 'SERVICE_HTTP_BIND_ADDRESS',
      portVariable: 'SERVICE_HTTP_BIND_ADDRESS',
      identify: byCertificate ?? identifyHttp,
    },
    {
      protocol: 'gRPC',
      address: { host: server.grpc_host, port: server.grpc_port },
      hostVariable: 'SERVICE_GRPC_HOST',
      portVariable: 'SERVICE_GRPC_PORT',
      identify: byCertificate ?? identifyGrpc,
    },
  ];
  return Promise.all(listeners.map((listener) => checkListener(listener, signal)));
}

const REASONS: Readonly<Record<string, readonly [reason: string, choose: string]>> = {
  EACCES: ['this user may not listen on it', 'a port above 1023'],
  EADDRNOTAVAIL: ['this machine does not have the address', 'one of its own addresses'],
  ENOTFOUND: ['the host name is unknown', 'an address of this machine'],
};

async function checkListener(
  { protocol, address, hostVariable, portVariable, identify }: Listener,
  signal: AbortSignal,
): Promise<Diagnosis> {
  const name = `The ${protocol} address ${formatAddress(address)}`;
  if (address.port === 0) return { status: 'ok', text: `${name} takes any free port.` };
  const failure = await tryToListen(address);
  if (failure === undefined) return { status: 'ok', text: `${name} is free.` };
  if (failure !== 'EADDRINUSE') {
    const [reason, choose] = REASONS[failure] ?? [failure, 'another address'];
    const variable = failure === 'EACCES' ? portVariable : hostVariable;
    const advice = `Choose ${choose} with ${variable}.`;
    return { status: 'problem', text: `${name} cannot be used: ${reason}.`, advice };
  }
  const holder = await identify(reachable(address), withTimeout(signal, TIMEOUT_MS));
  if (holder !== undefined) return { status: 'ok', text: `${name} is held by a running ${holder}.` };
  return {
    status: 'problem',
    text: `${name} is held by another program.`,
    advice: `Stop that program, or choose another port with ${portVariable}.`,
  };
}

/** Listens for a moment; returns the error code of a failure. */
async function tryToListen({ host, port }: Address): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
  } catch (error) {
    return errorCode(error) ?? String(error);
  }
  server.close();
  await once(server, 'close');
  return undefined;
}

/** Converts a listen address to one for clients. */
function reachable({ host, port }: Address): Address {
  if (host === '0.0.0.0') return { host: '127.0.0.1', port };
  return host === '::' ? { host: '::1', port } : { host, port };
}

async function identifyHttp(address: Address, signal: AbortSignal): Promise<string | undefined> {
  const client = createClient({ url: `http://${formatAddress(address)}`, signal, errorWidth: Infinity });
  try {
    const { version, uptimeSeconds } = await readHealth(client);
    if (version === undefined || uptimeSeconds === undefined) return 'data-frame server';
    return `data-frame server, version ${version}, up for ${Math.round(uptimeSeconds)} s`;
  } catch {
    return undefined;
  }
}

/** Only a data-frame server knows the method; its error for an empty handle has a metadata key of ours. */
async function identifyGrpc(address: Address, signal: AbortSignal): Promise<string | undefined> {
  const session = connectHttp2(`http://${formatAddress(address)}`);
  try {
    return await new Promise((resolve) => {
      const look = (headers: Readonly<Record<string, unknown>>): void => {
        if ('svc-error-code' in headers) resolve('data-frame server');
      };
      const giveUp = (): void => resolve(undefined);
      session.on('error', giveUp).on('close', giveUp);
      signal.addEventListener('abort', giveUp, { once: true });
      const call = session.request({
        ':method': 'POST',
        ':path': '/svc.frames.v1.FrameService/DescribeFrame',
        'content-type': 'application/grpc',
        te: 'trailers',
      });
      call.on('response', look).on('trailers', look).on('error', giveUp).on('close', giveUp).resume();
      // One empty message: not compressed, length 0.
      call.end(new Uint8Array(5));
    });
  } finally {
    session.destroy();
  }
}

/**
 * Recognises a server by its certificate. It shows it before it asks for the client's, and gets no request, so the
 * certificate need not be trusted.
 */
function identifyTls(certFile: string): (address: Address, signal: AbortSignal) => Promise<string | undefined> {
  return async ({ host, port }, signal) => {
    const socket = connectTls({ host, port, rejectUnauthorized: false });
    // An error after the handshake, such as a refused client, does not matter.
    socket.on('error', () => undefined);
    try {
      const [own] = await Promise.all([readFile(certFile), once(socket, 'secureConnect', { signal })]);
      const isOwn = socket.getPeerX509Certificate()?.fingerprint256 === new X509Certificate(own).fingerprint256;
      return isOwn ? 'server with the certificate of tls.cert_file' : undefined;
    } catch {
      return undefined;
    } finally {
      socket.destroy();
    }
  };
}

const DATABASE = 'The time-series database';
const MAX_BYTES = 64 * 1024;

/** Queries the time-series database like the server. */
async function checkUpstream({ tsdb, scheduler }: Config, signal: AbortSignal): Promise<Diagnosis> {
  if (tsdb.http_url === undefined) {
    const engines =
      scheduler.url === undefined
        ? 'engine=local, which queries the frames'
        : 'engine=local or engine=scheduler, which query the frames';
    return { status: 'ok', text: `No time-series database is set: SQL needs ${engines}.` };
  }
  const proxy = createTsdbProxy({
    url: tsdb.http_url,
    user: tsdb.user,
    password: tsdb.password,
    token: tsdb.token,
    ...(tsdb.ca_file !== undefined && { ca: readFileSync(tsdb.ca_file, 'utf8') }),
    connectTimeoutMs: Math.min(tsdb.connect_timeout_ms, TIMEOUT_MS),
    timeoutMs: Math.min(tsdb.timeout_ms, TIMEOUT_MS),
    idleTimeoutMs: Math.min(tsdb.idle_timeout_ms, TIMEOUT_MS),
  });
  try {
    const response = await proxy.forward(
      { tenant: 'default', requestId: 'svc-doctor', signal },
      {
        path: '/exec',
        params: [
          ['query', 'select 1'],
          ['fmt', 'json'],
        ],
      },
    );
    if (response.status >= 400) {
      await response.body?.cancel();
      return {
        status: 'warning',
        text: `${DATABASE} ${tsdb.http_url} answers select 1 with status ${response.status}.`,
        advice: 'Check that SERVICE_TSDB_HTTP_URL is its base URL, and the permissions of its user.',
      };
    }
    if (await isTable(response.body)) return { status: 'ok', text: `${DATABASE} ${tsdb.http_url} answers.` };
    return {
      status: 'problem',
      text: `${DATABASE} ${tsdb.http_url} does not answer select 1 with a table.`,
      advice: 'Check that SERVICE_TSDB_HTTP_URL is the base URL of a database.',
    };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return {
      status: 'problem',
      text: `${DATABASE} ${tsdb.http_url} does not answer: ${error.message}`,
      advice: 'Check that it is running, SERVICE_TSDB_HTTP_URL, and the credentials.',
    };
  } finally {
    await proxy.close();
  }
}

async function isTable(body: AsyncIterable<Uint8Array> | null): Promise<boolean> {
  if (body === null) return false;
  try {
    await readResponse({ body }, SHORT_TABLE, MAX_BYTES);
    return true;
  } catch (error) {
    if (error instanceof CliError) return false;
    throw error;
  }
}

const CLUSTER = 'The cluster of scheduler.url';

/** Sends SQL to the cluster like the server. */
async function checkScheduler({ scheduler }: Config, signal: AbortSignal): Promise<readonly Diagnosis[]> {
  const cluster = schedulerCluster(scheduler);
  if (cluster === undefined) return [];
  const shown = `${CLUSTER} (${cluster.host}, port ${cluster.port})`;
  const engine = createSchedulerEngine({
    cluster,
    // The statement names no frame.
    frames: { pin: async () => undefined, handles: async () => [] },
    locate: () => undefined,
    timeoutMs: Math.max(TIMEOUT_MS, SLOW_START_MS),
  });
  try {
    const result = await engine.query({ tenant: 'default', requestId: 'svc-doctor', signal }, 'SELECT 1 AS one');
    result.close();
    return [{ status: 'ok', text: `${shown} runs SQL.` }];
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return [
      {
        status: 'problem',
        text: `${shown} does not run SQL: ${error.message}`,
        advice: 'Check that it is running, scheduler.url, and scheduler.token.',
      },
    ];
  } finally {
    await engine.close();
  }
}

/** The first statement of a new Spark takes seconds. */
const SLOW_START_MS = 20_000;
