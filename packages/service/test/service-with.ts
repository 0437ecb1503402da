import { createMemoryStore } from '@svc/frames';
import { onTestFinished } from 'vitest';
import { createService, type Service, type ServiceOptions } from '../src/index.ts';

/** A service over a memory store, with these parts in place of its own; it ends with the test. */
export function serviceWith(parts: Partial<ServiceOptions> = {}): Service {
  const service = createService({ store: createMemoryStore(), ...parts });
  onTestFinished(() => service.close());
  return service;
}

/** Somebody's call, which nobody cancels. */
export const call = { tenant: 'default', requestId: 'r-1', signal: new AbortController().signal };
