import type { TenantLimits } from '@svc/auth';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { FrameStream } from '@svc/frames';
import { tenantShare } from '@svc/frames/async';
import { limitBytes } from '@svc/frames/streams';
import type { Upload } from './service.ts';

/**
 * Limits the body of an upload: reading more than `maxBytes` throws `payload_too_large`. `onEnd` is called when it was read to
 * its end.
 */
export function limitUpload(
  { body, bytes = 0 }: Upload,
  maxBytes: number,
  onEnd?: () => void,
): AsyncIterable<Uint8Array> {
  if (bytes > maxBytes) throw tooLarge(maxBytes, 'The upload');
  return limitBytes(body, maxBytes, undefined, onEnd);
}

/** Limits the rows of a stream: reading more than `maxBytes` throws `payload_too_large`. `check` gets the bytes so far. */
export function limitRows(
  { schema, batches }: FrameStream,
  maxBytes: number,
  check: (bytes: number) => void = () => {},
): FrameStream {
  async function* limited(): FrameStream['batches'] {
    let bytes = 0;
    for await (const batch of batches) {
      bytes += batch.data.byteLength;
      check(bytes);
      if (bytes > maxBytes) throw tooLarge(maxBytes, 'The query result');
      yield batch;
    }
  }
  return { schema, batches: limited() };
}

function tooLarge(maxBytes: number, what: string): ServiceError {
  return new ServiceError('payload_too_large', `${what} is longer than ${maxBytes} bytes.`);
}

/** Applies the limits of tenants to their requests. */
interface TenantLimiter {
  /** Counts a request of a tenant. Throws `too_many_requests` if the tenant sends them too fast. */
  readonly admit: (tenant: string) => void;
  /**
   * Counts a statement of a tenant as running, until the function that it returns is called. Throws `too_many_requests` if
   * too many are running. Undefined if the tenant has no limit: nothing is counted then.
   */
  readonly startQuery: (tenant: string) => (() => void) | undefined;
  /** The same for requests in flight; a tenant may have three quarters. */
  readonly startRequest: (tenant: string) => (() => void) | undefined;
}

/** The requests of a tenant at once, as of a time. */
interface Bucket {
  tokens: number;
  atMs: number;
}

/** Options of `createTenantLimiter`. */
interface TenantLimiterOptions {
  /** Returns the current limits of a tenant. */
  readonly limitsOf: (tenant: string) => TenantLimits | undefined;
  /** The most requests in flight of all tenants. Default: any number. */
  readonly maxInFlight?: number | undefined;
  /** A monotonic clock in milliseconds. Default: the clock of the process. */
  readonly now?: () => number;
}

/** Creates a limiter. */
export function createTenantLimiter(options: TenantLimiterOptions): TenantLimiter {
  const { limitsOf, maxInFlight, now = () => performance.now() } = options;
  const buckets = new Map<string, Bucket>();
  const queries = createTenantCounts();
  const requests = createTenantCounts();

  return {
    admit(tenant) {
      const rate = limitsOf(tenant)?.requestsPerSecond;
      if (rate === undefined) {
        buckets.delete(tenant);
        return;
      }
      const nowMs = now();
      const burst = Math.max(1, rate);
      const bucket = buckets.get(tenant) ?? { tokens: burst, atMs: nowMs };
      buckets.set(tenant, bucket);
      bucket.tokens = Math.min(burst, bucket.tokens + ((nowMs - bucket.atMs) * rate) / 1000);
      bucket.atMs = nowMs;
      if (bucket.tokens < 1) throw tooFast(tenant, rate, (1 - bucket.tokens) / rate);
      bucket.tokens -= 1;
    },

    startQuery(tenant) {
      const max = limitsOf(tenant)?.maxQueries;
      if (max === undefined) return undefined;
      return queries.start(tenant, max, () => tooManyQueries(tenant, max));
    },

    startRequest(tenant) {
      if (maxInFlight === undefined) return undefined;
      const max = tenantShare(maxInFlight);
      return requests.start(tenant, max, () => tooManyRequests(tenant, max));
    },
  };
}

/** Counts what each tenant has at the same time. */
function createTenantCounts() {
  const counts = new Map<string, number>();
  return {
    start(tenant: string, max: number, refusal: () => ServiceError): () => void {
      const count = counts.get(tenant) ?? 0;
      if (count >= max) throw refusal();
      counts.set(tenant, count + 1);
      let isRunning = true;
      return () => {
        if (!isRunning) return;
        isRunning = false;
        const left = (counts.get(tenant) ?? 0) - 1;
        if (left > 0) counts.set(tenant, left);
        else counts.delete(tenant);
      };
    },
  };
}

function tooFast(tenant: string, rate: number, waitSeconds: number): ServiceError {
  const retryAfterSeconds = Math.ceil(waitSeconds);
  return new ServiceError(
    'too_many_requests',
    `The tenant ${quoted(tenant)} sends more than its limit of ${rate} requests per second (requests_per_second).`,
    { hint: `Retry in ${retryAfterSeconds} s, send fewer requests, or ask the operator for more.`, retryAfterSeconds },
  );
}

function tooManyQueries(tenant: string, max: number): ServiceError {
  return new ServiceError(
    'too_many_requests',
    `The tenant ${quoted(tenant)} runs as many queries as its limit of ${max} allows (max_queries).`,
    { hint: 'Retry when one of them has ended, or ask the operator for more.', retryAfterSeconds: 1 },
  );
}

function tooManyRequests(tenant: string, max: number): ServiceError {
  return new ServiceError('too_many_requests', `The tenant ${quoted(tenant)} already has ${max} requests in flight.`, {
    hint: 'Retry when one of them has ended. The limit is three quarters of http.max_in_flight.',
    retryAfterSeconds: 1,
  });
}

/** The longest time to live: 100 years. */
export const MAX_TTL_SECONDS = 100 * 365 * 24 * 3600;

/** The hint for an invalid TTL. */
export const TTL_HINT = `A time to live is in whole seconds, from 1 to ${MAX_TTL_SECONDS} (100 years).`;

/** Throws if a TTL is out of range. */
export function checkTtl(seconds: number | null | undefined): void {
  if (seconds === null || seconds === undefined) return;
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= MAX_TTL_SECONDS) return;
  throw new ServiceError('invalid_argument', `A time to live of ${seconds} seconds is out of range.`, {
    hint: TTL_HINT,
  });
}
