/**
 * What a caller may do. `read`: read, list and describe frames, and SQL over them. `write`: put, append, expire and drop
 * frames; it does not include `read`. `tsdb`: SQL for the time-series database. `scheduler`: SQL on a cluster. `admin`:
 * the pages for operators; no frames.
 */
export const PERMISSIONS = ['read', 'write', 'tsdb', 'scheduler', 'admin'] as const;

/** One of `PERMISSIONS`. */
export type Permission = (typeof PERMISSIONS)[number];

/** The origin of a request, as proved by its credentials. */
export interface Caller {
  /** Identifies the caller in the log: the id of its token, or the subject of its certificate. Not a secret. */
  readonly id: string;
  /** The tenant whose frames the caller sees. */
  readonly tenant: string;
  readonly permissions: ReadonlySet<Permission>;
}

const TENANT_PATTERN = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** The rule for names of tenants, for error messages. */
export const TENANT_RULE =
  'A tenant has 1 to 63 lower-case letters, digits and dashes, and does not begin with a dash.';

/** Whether a text is a valid name of a tenant. */
export function isTenant(text: string): boolean {
  return TENANT_PATTERN.test(text);
}
