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

/** Callers of the tenant alpha with each permission alone and with all, and one of the tenant beta. */
export const CALLERS = {
  all: createCaller('alpha', PERMISSIONS),
  read: createCaller('alpha', ['read']),
  write: createCaller('alpha', ['write']),
  tsdb: createCaller('alpha', ['tsdb']),
  scheduler: createCaller('alpha', ['scheduler']),
  admin: createCaller('alpha', ['admin']),
  beta: createCaller('beta', PERMISSIONS),
  expired: createCaller('alpha', PERMISSIONS, 'expires = 2020-01-01T00:00:00Z'),
} as const;

/** The text of a callers file. */
export function callersFileOf(callers: Readonly<Record<string, TestCaller>>): string {
  return Object.values(callers)
    .map(({ row }) => row)
    .join('\n');
}

/** The value of `Authorization` for a token. */
export const bearer = (token: string): string => `Bearer ${token}`;
export const basic = (token: string): string => `Basic ${Buffer.from(`any:${token}`).toString('base64')}`;
