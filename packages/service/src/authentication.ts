import { type Authenticator, permissionDenied, unauthenticated } from '@svc/auth';
import { ServiceError } from '@svc/errors';
import type { Observer } from './events.ts';
import { requiredPermissions } from './required-permissions.ts';
import type { AuthenticationContext, Service } from './service.ts';

/** Dependencies of `createAuthentication`. */
export interface AuthenticationParts {
  /** Undefined if authentication is off. */
  readonly authenticator: Authenticator | undefined;
  readonly observe: Observer;
}

/** Creates the checks of callers and their permissions. */
export function createAuthentication({
  authenticator,
  observe,
}: AuthenticationParts): Pick<Service, 'authenticate' | 'authorize'> {
  function refuse(error: unknown, context: AuthenticationContext): never {
    if (error instanceof ServiceError && error.code === 'unauthenticated') {
      const { requestId, operation = null, client, trace } = context;
      const known = { ...(client && { client }), ...(trace && { trace }) };
      observe({ kind: 'caller_refused', requestId, operation, reason: error.message, ...known });
    }
    throw error;
  }

  // A promise only if there is something to wait for: a token is checked at once.
  const authenticate: Service['authenticate'] =
    authenticator &&
    ((credentials, context) => {
      try {
        const caller = authenticator.authenticate(credentials);
        return caller instanceof Promise ? caller.catch((error: unknown) => refuse(error, context)) : caller;
      } catch (error) {
        return refuse(error, context);
      }
    });

  return {
    authenticate,
    authorize({ caller }, operation, target) {
      if (caller === undefined) {
        // A front end that forgets to authenticate must not open the server.
        if (authenticator !== undefined) throw unauthenticated('The request has no credentials.');
        return;
      }
      for (const permission of requiredPermissions(operation, target)) {
        if (!caller.permissions.has(permission)) throw permissionDenied(permission);
      }
    },
  };
}
