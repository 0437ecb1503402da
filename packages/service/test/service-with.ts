import { createMemoryStore } from '@svc/frames';
import { afterEach } from 'vitest';
import { createService, type Service, type ServiceOptions } from '../src/index.ts';

const services: Service[] = [];

afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.close()));
});

/** A service over a memory store, with these parts in place of its own; it ends with the test. */
export function serviceWith(parts: Partial<ServiceOptions> = {}): Service {
  const service = createService({ store: createMemoryStore(), ...parts });
  services.push(service);
  return service;
}

/** Somebody's call, which nobody cancels. */
export const call = { tenant: 'default', requestId: 'r-1', signal: new AbortController().signal };
