import type { Metadata } from '@grpc/grpc-js';
import type { Credentials } from '@svc/auth';
import type { Caller } from '@svc/frames';
import type { RunningCall } from './running-call.ts';

/** The metadata that carries credentials, as in HTTP. */
export const AUTHORIZATION_KEY = 'authorization';

/** The metadata in which some Flight clients repeat the token of their handshake. */
const HANDSHAKE_TOKEN_KEY = 'auth-token-bin';

/** Returns the credentials in the metadata of a call. */
export function credentialsOf(metadata: Metadata): Credentials {
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
