import { once } from 'node:events';
import { connect } from 'node:http2';
import { createServer } from 'node:net';
import { type Address, type Config, formatAddress } from '@svc/config';
import { createClient } from '../client/client.ts';
import { errorCode } from '../errors/error-code.ts';
import { readHealth } from '../client/health.ts';
import { withTimeout } from '../client/with-timeout.ts';
import { type Diagnosis, TIMEOUT_MS } from './diagnosis.ts';
import { identifyTls } from './identify-tls.ts';

interface Listener {
  readonly protocol: 'HTTP' | 'gRPC';
  readonly address: Address;
  /** The variables that move it to another host and another port. */
  readonly hostVariable: string;
  readonly portVariable: string;
  /** Describes the process on the port, if it is a data-frame server. */
  readonly identify: (address: Address, signal: AbortSignal) => Promise<string | undefined>;
}

/** Checks that the ports of both listeners are free, or held by a data-frame server. */
export async function checkListeners({ server, tls }: Config, signal: AbortSignal): Promise<readonly Diagnosis[]> {
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

/** Listens for a moment; returns the error code if that fails. */
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

/** Converts a listen address to one that clients can connect to. */
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
  const session = connect(`http://${formatAddress(address)}`);
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
