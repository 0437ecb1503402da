import { cancelledError, type ErrorCode, ServiceError } from '@svc/errors';
import type { DecodedFormat } from '../../encoding.ts';
import type { DecodeStep, FramePart } from '../decode-steps.ts';
import type { TargetMessage } from '../json/json-column.ts';

/** A request of the main thread to a worker. Each except `close` gets exactly one outcome. */
export type WorkerRequest =
  | {
      readonly kind: 'open';
      readonly format: DecodedFormat;
      readonly maxBytes: number;
      /** The file with the body; undefined if its bytes are sent. */
      readonly path?: string;
      /** The whole body, if it is short. Its outcome is `parts`. */
      readonly whole?: Uint8Array<ArrayBuffer>;
      /** True if Arrow data may have unions. Default false. */
      readonly unions?: boolean;
      /** The columns of JSON rows; undefined if the values determine them. */
      readonly target?: TargetMessage;
    }
  | BodyChunk
  | { readonly kind: 'end' }
  | { readonly kind: 'next' }
  | { readonly kind: 'close' };

/** More of a body: bytes, or the number of readable bytes of its file. */
export type BodyChunk =
  | { readonly kind: 'chunk'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'grown'; readonly bytes: number };

/** The outcome of a request: the next step of the decoder, its end, or its failure. */
export type Outcome =
  | DecodeStep
  | {
      readonly kind: 'parts';
      readonly parts: readonly FramePart[];
      /** True if these are all parts. */
      readonly isDone: boolean;
    }
  | { readonly kind: 'done' }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly message: string; readonly hint: string }
  | { readonly kind: 'failed'; readonly error: unknown };

/** Converts a thrown value to an outcome. */
export function outcomeFromError(error: unknown): Outcome {
  if (!(error instanceof ServiceError)) return { kind: 'failed', error };
  const { code, message, hint } = error;
  return { kind: 'refused', code, message, hint };
}

/** The buffers a request passes on to the worker. */
export function buffersOfRequest(request: WorkerRequest): ArrayBuffer[] {
  if (request.kind === 'chunk') return [request.bytes.buffer];
  return request.kind === 'open' && request.whole !== undefined ? [request.whole.buffer] : [];
}

/** Throws the error of an outcome, if it has one. */
export function throwIfFailed<Any extends Outcome>(
  outcome: Any,
): asserts outcome is Exclude<Any, { kind: 'refused' | 'failed' }> {
  if (outcome.kind === 'refused') throw new ServiceError(outcome.code, outcome.message, { hint: outcome.hint });
  if (outcome.kind === 'failed') throw new Error('The decoder failed.', { cause: outcome.error });
}

/** Returns the error of an upload whose signal was aborted. */
export function cancelledUpload(reason: unknown): ServiceError {
  return cancelledError(reason, 'The upload was cancelled before its end.');
}
