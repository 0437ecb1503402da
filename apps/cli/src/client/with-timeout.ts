/**
 * A signal that is aborted with another one, and after some time. Not by `AbortSignal.timeout`: inside of
 * `AbortSignal.any` nothing holds it, and it is collected together with its timer.
 */
export function withTimeout(signal: AbortSignal, ms: number): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new DOMException('The time is over.', 'TimeoutError')), ms).unref();
  return AbortSignal.any([signal, controller.signal]);
}
