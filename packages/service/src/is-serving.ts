import type { Health } from './service.ts';

/** Whether clients should send requests: the service works, perhaps without some of its frames. */
export function isServing({ status }: Pick<Health, 'status'>): boolean {
  return status === 'ok' || status === 'degraded';
}
