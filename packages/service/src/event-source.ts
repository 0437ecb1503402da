import type { Call } from '@svc/frames';
import type { EventSource } from './events.ts';

/** Returns the fields of an event that identify the request. */
export function eventSource({ requestId, tenant, caller, trace }: Call): EventSource {
  const source = caller === undefined ? { requestId, tenant } : { requestId, tenant, caller: caller.id };
  return trace === undefined ? source : { ...source, trace };
}
