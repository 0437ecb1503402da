/**
 * Returns a signal that aborts with the given one, or after a timeout. `AbortSignal.timeout` does not work here:
 * `AbortSignal.any` does not retain it, so it is garbage-collected together with its timer.
 */
export function withTimeout(signal: AbortSignal, ms: number): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new DOMException('Timed out.', 'TimeoutError')), ms).unref();
  return AbortSignal.any([signal, controller.signal]);
}
