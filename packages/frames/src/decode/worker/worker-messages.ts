import { type ErrorCode, ServiceError } from '@svc/errors';
import type { DecodedFormat } from '../../encoding.ts';
import type { DecodeStep } from '../decode-steps.ts';

/** What the main thread asks of a worker. Each but `close` is answered by exactly one outcome. */
export type WorkerRequest =
  | {
      readonly kind: 'open';
      readonly format: DecodedFormat;
      readonly maxBytes: number;
      /** The file that the body is in; left out where it is sent. */
      readonly path?: string;
    }
  | BodyPiece
  | { readonly kind: 'end' }
  | { readonly kind: 'next' }
  | { readonly kind: 'close' };

/** More of a body: bytes, or how many of its file may be read from now on. */
export type BodyPiece =
  | { readonly kind: 'chunk'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'grown'; readonly bytes: number };

/** What came of a request: the next step of the decoding, its end, or why it failed. */
export type Outcome =
  | DecodeStep
  | { readonly kind: 'done' }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly message: string; readonly hint: string }
  | { readonly kind: 'failed'; readonly error: unknown };

/** A thrown value as an outcome. */
export function outcomeFromError(error: unknown): Outcome {
  if (!(error instanceof ServiceError)) return { kind: 'failed', error };
  const { code, message, hint } = error;
  return { kind: 'refused', code, message, hint };
}

/** Throws what a worker threw, if the outcome says so. */
export function throwIfFailed<Any extends Outcome>(
  outcome: Any,
): asserts outcome is Exclude<Any, { kind: 'refused' | 'failed' }> {
  if (outcome.kind === 'refused') throw new ServiceError(outcome.code, outcome.message, { hint: outcome.hint });
  if (outcome.kind === 'failed') throw new Error('The decoder failed.', { cause: outcome.error });
}
