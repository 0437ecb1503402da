import { ServiceError } from '@svc/errors';
import { SERVER_ENDPOINTS } from './server-endpoints.ts';

/** Paths that are answered however busy the server is. */
const PROBES: ReadonlySet<string> = new Set(
  Object.entries(SERVER_ENDPOINTS).flatMap(([path, { isProbe = false }]) => (isProbe ? [path] : [])),
);

/** Returns the error of a request that is one too many. `inFlight` counts it. */
export function tooBusy(url: string | undefined, inFlight: number, maxInFlight: number): ServiceError | undefined {
  if (inFlight <= maxInFlight || PROBES.has(url?.split('?', 1)[0] ?? '')) return undefined;
  return new ServiceError(
    'too_many_requests',
    `The server already has ${maxInFlight} requests in flight (http.max_in_flight).`,
    { hint: 'Retry after the number of seconds in Retry-After, or raise http.max_in_flight.', retryAfterSeconds: 1 },
  );
}
