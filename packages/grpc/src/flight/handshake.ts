import { parseAuthorization, unauthenticated } from '@svc/auth';
import type { Call } from '@svc/frames';
import { flight } from '@svc/proto';
import type { Service } from '@svc/service';
import { decodeRequest } from '../message-limits.ts';

/** Returns the tokens of handshakes, which the client sends with all further calls. */
export interface Handshake {
  /** The token in the metadata of an authenticated call; undefined if the metadata has none. */
  tokenOf(authorization: string | undefined): string | undefined;
  /** Checks a user and password in a message. Throws `unauthenticated` if they are wrong. */
  check(call: Call, payload: Uint8Array): Promise<string>;
}

/** The token of everyone if authentication is off. It has no effect. */
const ANONYMOUS_TOKEN = 'anonymous';

/** Creates the handshakes of a service. There are no sessions: the token is the password, and each call is authenticated. */
export function createHandshake({ authenticate, admit }: Pick<Service, 'admit' | 'authenticate'>): Handshake {
  if (authenticate === undefined) return { tokenOf: () => ANONYMOUS_TOKEN, check: async () => ANONYMOUS_TOKEN };
  return {
    tokenOf: (authorization) => (authorization === undefined ? undefined : parseAuthorization(authorization)),
    async check(call, payload) {
      const { password } = basicAuth(payload);
      // Any user is right. Its name may have a colon, which would end it in Basic credentials.
      const authorization = `Basic ${Buffer.from(`:${password}`).toString('base64')}`;
      const caller = await authenticate({ authorization }, call);
      admit({ ...call, caller, tenant: caller.tenant });
      return password;
    },
  };
}

function basicAuth(payload: Uint8Array): flight.BasicAuth {
  try {
    return decodeRequest(flight.BasicAuth, payload);
  } catch {
    throw unauthenticated('The payload of the handshake is not a BasicAuth message.');
  }
}
