import { isTenant, unauthenticated } from '@svc/auth';
import { TENANT_RULE } from '@svc/auth/internal';
import type { Caller } from '@svc/frames';

/**
 * Returns the caller that the `authenticate` of a host returned. Throws if it is not one: without a caller, everything would
 * be allowed, and a tenant could name a folder of another.
 */
export function checkCaller(caller: Partial<Caller> | null | undefined): Caller {
  // A host in JavaScript may return none.
  if (!caller) throw unauthenticated('The request has no credentials.');
  const { id, tenant, permissions } = caller;
  if (Array.isArray(permissions)) {
    const set = `permissions: new Set(${JSON.stringify(permissions)})`;
    throw new TypeError(`authenticate returned a list of permissions; it must return a Set: ${set}.`);
  }
  if (typeof id !== 'string' || typeof tenant !== 'string' || !(permissions instanceof Set)) {
    throw new TypeError('authenticate must return { id, tenant, permissions }, with a Set of permissions, or throw.');
  }
  if (!isTenant(tenant))
    throw new TypeError(`authenticate returned the tenant ${JSON.stringify(tenant)}. ${TENANT_RULE}`);
  return { id, tenant, permissions };
}
