import { type Signal, signal } from '@preact/signals';
import { ClientError } from '@svc/client/internal';
import { askedMs } from '../api/api.ts';
import { toError } from '../state/to-error.ts';

const DELAYS_MS = [500, 1000, 2000, 4000];
const MAX_DELAY_MS = 8000;

/** The last failure, and when what failed is tried again. */
export interface Retries {
  readonly failure: Signal<Error | undefined>;
  /** Something has failed. If the failure is temporary, it is tried again by itself, less and less often, and not before the server allows it. */
  fail(error: unknown): void;
  succeed(): void;
  /** Tries again now. */
  retry(): void;
  close(): void;
}

/** Creates a record of failures; `again` tries again. */
export function createRetries(again: () => void): Retries {
  const failure = signal<Error | undefined>(undefined);
  let failures = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  function retry(): void {
    clearTimeout(timer);
    failure.value = undefined;
    again();
  }
  return {
    failure,
    retry,
    fail(error) {
      failure.value = toError(error);
      clearTimeout(timer);
      if (!isTemporary(error)) return;
      const delayMs = DELAYS_MS[failures] ?? MAX_DELAY_MS;
      timer = setTimeout(retry, Math.max(delayMs, askedMs(error)));
      failures += 1;
    },
    succeed() {
      failures = 0;
    },
    close: () => clearTimeout(timer),
  };
}

/** The server is not there, or is busy: the same request can succeed later. */
function isTemporary(error: unknown): boolean {
  return error instanceof ClientError && [undefined, 429, 502, 503, 504].includes(error.status);
}
