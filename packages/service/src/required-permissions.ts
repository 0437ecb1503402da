import type { Permission } from '@svc/auth';
import type { Call } from '@svc/frames';
import type { SqlTarget } from './engine-names.ts';
import type { OperationName } from './service.ts';

/** The permissions that an operation needs, all of them; for SQL, by where it runs. */
export type PermissionRow = readonly Permission[] | Readonly<Partial<Record<SqlTarget, readonly Permission[]>>>;

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
  // Any caller, who sees only the statements of its tenant that it could run itself; with `admin`, all.
  listQueries: [],
  findQuery: [],
  cancelQuery: [],
} as const satisfies Record<OperationName, PermissionRow>;

const ROWS: Readonly<Record<OperationName, PermissionRow>> = REQUIRED_PERMISSIONS;

/** Returns the permissions that an operation needs; `target` is where SQL runs. */
export function requiredPermissions(operation: OperationName, target: SqlTarget = 'local'): readonly Permission[] {
  const row = ROWS[operation];
  if (isList(row)) return row;
  const permissions = row[target];
  if (permissions === undefined) throw new Error(`${operation} has no permissions for ${target}.`);
  return permissions;
}

/** Whether a call may use an operation. Without authentication it has no caller, and may use all. */
export function isAllowed({ caller }: Call, operation: OperationName, target?: SqlTarget): boolean {
  return caller === undefined || requiredPermissions(operation, target).every((name) => caller.permissions.has(name));
}

function isList(row: PermissionRow): row is readonly Permission[] {
  return Array.isArray(row);
}
