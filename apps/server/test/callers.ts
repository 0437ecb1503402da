import { createToken, formatToken, hashSecret, type Permission, PERMISSIONS, type Token } from '@svc/auth';

/** A caller of the tests: its token, and the row of the callers file. */
export interface TestCaller {
  readonly token: string;
  readonly row: string;
  readonly tenant: string;
  readonly permissions: readonly Permission[];
}

/** Creates a caller with a new token. */
export function createCaller(tenant: string, permissions: readonly Permission[], more = ''): TestCaller {
  const token: Token = createToken();
  const row = [
    '[[token]]',
    `id = "${token.id}"`,
    `hash = "${hashSecret(token.secret)}"`,
    `tenant = "${tenant}"`,
    `permissions = ${JSON.stringify(permissions)}`,
    more,
    '',
  ].join('\n');
  return { token: formatToken(token), row, tenant, permissions };
}

/** A caller of the tenant alpha for each set of permissions, by their names. */
const BY_PERMISSIONS: ReadonlyMap<string, TestCaller> = new Map(
  Array.from({ length: 2 ** PERMISSIONS.length - 1 }, (_, i) => {
    const permissions = PERMISSIONS.filter((_name, bit) => ((i + 1) >> bit) % 2 === 1);
    return [permissions.join(' '), createCaller('alpha', permissions)];
  }),
);

/** Returns the caller of the tenant alpha with exactly these permissions, at least one. */
export function callerWith(permissions: readonly Permission[]): TestCaller {
  const key = PERMISSIONS.filter((name) => permissions.includes(name)).join(' ');
  const caller = BY_PERMISSIONS.get(key);
  if (caller === undefined) throw new Error('A caller has at least one permission.');
  return caller;
}

/** The callers of `callerWith`, for a callers file. */
export const EVERY_CALLER: Readonly<Record<string, TestCaller>> = Object.fromEntries(BY_PERMISSIONS);

/** Callers of the tenant alpha with each permission alone and with all, and one of the tenant beta. */
export const CALLERS = {
  all: callerWith(PERMISSIONS),
  read: callerWith(['read']),
  write: callerWith(['write']),
  tsdb: callerWith(['tsdb']),
  scheduler: callerWith(['scheduler']),
  admin: callerWith(['admin']),
  beta: createCaller('beta', PERMISSIONS),
  expired: createCaller('alpha', PERMISSIONS, 'expires = 2020-01-01T00:00:00Z'),
} as const;

/** The text of a callers file. */
export function callersFileOf(callers: Readonly<Record<string, TestCaller>>): string {
  return [...new Set(Object.values(callers).map(({ row }) => row))].join('\n');
}

/** The value of `Authorization` for a token. */
export const bearer = (token: string): string => `Bearer ${token}`;
export const basic = (token: string): string => `Basic ${Buffer.from(`any:${token}`).toString('base64')}`;
