import type { Metadata } from '@grpc/grpc-js';
import { type ClientCertificate, clientCertificateOf, type Credentials } from '@svc/auth';
import type { Caller } from '@svc/frames';
import { streamOf } from './flight/send-uncopied.ts';
import type { RunningCall } from './running-call.ts';

/** The metadata that carries credentials, as in HTTP. */
export const AUTHORIZATION_KEY = 'authorization';

/** The metadata in which some Flight clients repeat the token of their handshake. */
const HANDSHAKE_TOKEN_KEY = 'auth-token-bin';

/** Returns the credentials of a call: in its metadata, and the certificate of its connection. */
export function credentialsOf(metadata: Metadata, call: object): Credentials {
  const connection = sessionOf(call);
  return { ...metadataCredentials(metadata), certificate: certificateOf(connection), connection };
}

/** Returns the HTTP/2 session of a call. */
export function sessionOf(call: object): object | undefined {
  const stream = streamOf(call);
  const session: unknown = stream !== undefined && 'session' in stream ? stream.session : undefined;
  return typeof session === 'object' && session !== null ? session : undefined;
}

function certificateOf(session: object | undefined): ClientCertificate | undefined {
  return session !== undefined && 'socket' in session ? clientCertificateOf(session.socket) : undefined;
}

function metadataCredentials(metadata: Metadata): Credentials {
  const authorization = metadata.get(AUTHORIZATION_KEY)[0]?.toString();
  if (authorization !== undefined) return { authorization };
  const token = metadata.get(HANDSHAKE_TOKEN_KEY)[0]?.toString();
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

/** Sets the caller of a call, and with it the tenant. */
export function setCaller(call: RunningCall, caller: Caller): void {
  call.caller = caller;
  call.tenant = caller.tenant;
}
