import { createMemoryStore } from '@svc/frames';
import { onTestFinished } from 'vitest';
import { createService, type Service, type ServiceOptions } from '../src/index.ts';

/** A service over a memory store, with the given parts; it is closed when the test ends. */
export function serviceWith(parts: Partial<ServiceOptions> = {}): Service {
  const service = createService({ store: createMemoryStore(), ...parts });
  onTestFinished(() => service.close());
  return service;
}

/** A call that is never cancelled. */
export const call = { tenant: 'default', requestId: 'r-1', signal: new AbortController().signal };
