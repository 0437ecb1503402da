import { type ErrorCode, ServiceError } from '@svc/errors';
import type { DecodeStep } from './decode-steps.ts';

/** The formats a worker decodes. */
export type DecodeFormat = 'arrow' | 'json';

/** What the main thread asks of a worker. Each but `close` is answered by exactly one reply. */
export type WorkerRequest =
  | { readonly kind: 'open'; readonly format: DecodeFormat; readonly maxBytes: number }
  | { readonly kind: 'chunk'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'end' }
  | { readonly kind: 'next' }
  | { readonly kind: 'close' };

/** What a worker answers: the next step of the decoding, its end, or why it failed. */
export type WorkerReply =
  | DecodeStep
  | { readonly kind: 'done' }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly message: string; readonly hint: string }
  | { readonly kind: 'failed'; readonly error: unknown };

/** A thrown value as a reply. */
export function replyFromError(error: unknown): WorkerReply {
  if (!(error instanceof ServiceError)) return { kind: 'failed', error };
  const { code, message, hint } = error;
  return { kind: 'refused', code, message, hint };
}

/** Throws what a worker threw, if the reply says so. */
export function throwIfFailed<Reply extends WorkerReply>(
  reply: Reply,
): asserts reply is Exclude<Reply, { kind: 'refused' | 'failed' }> {
  if (reply.kind === 'refused') throw new ServiceError(reply.code, reply.message, { hint: reply.hint });
  if (reply.kind === 'failed') throw new Error('The decoder failed.', { cause: reply.error });
}
