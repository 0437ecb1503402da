/** The trace of a request, if its spans are recorded. */
export interface RequestTrace {
  /** W3C trace context: the span that the work of the child is part of. */
  readonly traceparent: string;
  /** When the parent sent the request, by `monotonicMs`. */
  readonly sentMs: number;
}

/** What may be added to a request of any kind. */
export interface Traceable {
  /** Omitted if the request is not traced: then the child measures nothing. */
  readonly trace?: RequestTrace;
}

/** A part of the child's work on a request that is traced. Times are by `monotonicMs`. */
export interface ChildSpan {
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes?: Readonly<Record<string, string | number>>;
}

/** A clock that the processes of a machine share, unlike `performance.now()`. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
