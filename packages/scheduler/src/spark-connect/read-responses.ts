import type { sparkConnect } from '@svc/proto';
import type { Metadata } from 'nice-grpc';
import { schedulerFailed } from '../scheduler-failed.ts';
import { backoff, isDisconnection, MAX_RETRIES } from './spark-session.ts';
import { RefusedPlan, transportError } from './spark-errors.ts';

type Response = sparkConnect.ExecutePlanResponse;

/** The calls that return the responses of one operation. */
export interface OperationCalls {
  start(options: StreamOptions): AsyncIterable<Response>;
  /** Continues after a response; from the start if there was none. */
  reattach(lastResponseId: string | undefined, options: StreamOptions): AsyncIterable<Response>;
  /** Returns the error of a call that the server answered. */
  refusalOf(error: unknown, trailer: Metadata | undefined): Promise<Error>;
}

/** Options of a call. */
export interface StreamOptions {
  readonly signal: AbortSignal;
  readonly onTrailer: (trailer: Metadata) => void;
}

/** A stream that lasted this long has made progress, even without a response. */
const LASTING_MS = 10_000;

/**
 * Reads the responses of an operation up to the last one, each once. When the connection breaks, or the server ends the
 * stream before (it does so after some minutes), it reattaches.
 */
export async function* readResponses(calls: OperationCalls, signal: AbortSignal): AsyncGenerator<Response> {
  let lastResponseId: string | undefined;
  let isStarted = false;
  for (let failures = 0; ; failures++) {
    let trailer: Metadata | undefined;
    const options = { signal, onTrailer: (sent: Metadata) => void (trailer = sent) };
    const since = performance.now();
    const responses = isStarted ? calls.reattach(lastResponseId, options) : calls.start(options);
    isStarted = true;
    try {
      for await (const response of responses) {
        failures = 0;
        if (response.responseId !== '') lastResponseId = response.responseId;
        yield response;
        if (response.resultComplete !== undefined) return;
      }
    } catch (error) {
      if (signal.aborted) throw error;
      if (!isDisconnection(error)) {
        const refusal = await calls.refusalOf(error, trailer);
        // The server never got the request: it can be sent again.
        isStarted = !(failures > 0 && lastResponseId === undefined && isUnknownOperation(refusal));
        if (isStarted || failures >= MAX_RETRIES) throw refusal;
      } else if (failures >= MAX_RETRIES) throw transportError(error);
    }
    if (performance.now() - since > LASTING_MS) failures = 0;
    if (failures >= MAX_RETRIES) throw schedulerFailed('The scheduler ended its response before it was complete.');
    await backoff(failures, signal);
  }
}

function isUnknownOperation(error: Error): boolean {
  if (!(error instanceof RefusedPlan)) return false;
  const { errorClass, message } = error.refusal;
  return /OPERATION_NOT_FOUND|operation not found/i.test(`${errorClass} ${message}`);
}
