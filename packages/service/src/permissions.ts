import { type Authenticator, type Permission, permissionDenied, unauthenticated } from '@svc/auth';
import { ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import type { SqlTarget } from './engines.ts';
import type { Observer } from './events.ts';
import type { AuthenticationContext, OperationName, Service } from './service.ts';

/** The permissions for an operation, all of them; for SQL, by where it runs. */
type PermissionRow = readonly Permission[] | Readonly<Partial<Record<SqlTarget, readonly Permission[]>>>;

/** The permissions of each operation: the only place that decides who may do what. */
export const REQUIRED_PERMISSIONS = {
  readFrame: ['read'],
  openFile: ['read'],
  findFile: ['read'],
  describeFrame: ['read'],
  listFrames: ['read'],
  putFrame: ['write'],
  appendFrame: ['write'],
  expireFrame: ['write'],
  renameFrame: ['write'],
  dropFrame: ['write'],
  query: { local: ['read'], scheduler: ['scheduler'] },
  describeQuery: { local: ['read'], scheduler: ['scheduler'] },
  keepQuery: { local: ['read', 'write'], scheduler: ['scheduler', 'write'], tsdb: ['tsdb', 'write'] },
  appendRows: ['write'],
  appendQuery: { local: ['read', 'write'], scheduler: ['scheduler', 'write'] },
  writeLines: ['write'],
  forward: ['tsdb'],
  forwardRead: ['tsdb'],
  forwardChange: ['tsdb', 'write'],
  // Any caller. It sees the statements of its tenant, as far as it could run them itself; with `admin`, all.
  listQueries: [],
  findQuery: [],
  cancelQuery: [],
} as const satisfies Record<OperationName, PermissionRow>;

const ROWS: Readonly<Record<OperationName, PermissionRow>> = REQUIRED_PERMISSIONS;

/** Returns the permissions for an operation; `target` is where SQL runs. */
export function requiredPermissions(operation: OperationName, target: SqlTarget = 'local'): readonly Permission[] {
  const row = ROWS[operation];
  if (isList(row)) return row;
  const permissions = row[target];
  if (permissions === undefined) throw new Error(`${operation} has no permissions for ${target}.`);
  return permissions;
}

/** True if a call may use an operation. Without authentication it has no caller, and may use all. */
export function isAllowed({ caller }: Call, operation: OperationName, target?: SqlTarget): boolean {
  return caller === undefined || requiredPermissions(operation, target).every((name) => caller.permissions.has(name));
}

function isList(row: PermissionRow): row is readonly Permission[] {
  return Array.isArray(row);
}

/** Creates the checks of callers and their permissions. Without an authenticator, authentication is off. */
export function createAuthentication(
  authenticator: Authenticator | undefined,
  observe: Observer,
): Pick<Service, 'authenticate' | 'authorize'> {
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
        // If a front end forgets to authenticate, the server must not be open.
        if (authenticator !== undefined) throw unauthenticated('The request has no credentials.');
        return;
      }
      for (const permission of requiredPermissions(operation, target)) {
        if (!caller.permissions.has(permission)) throw permissionDenied(permission);
      }
    },
  };
}
