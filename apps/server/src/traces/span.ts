/** A finished span. It has no SQL, no values, no handles and no credentials: routes, engines, codes and sizes only. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly traceState: string | undefined;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client';
  /** Unix time in milliseconds, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  /** Values that are undefined are left out. */
  readonly attributes: SpanAttributes;
  /** The code of a failure. Undefined if nothing failed here: a mistake of the client is no failure of the server. */
  readonly failure: string | undefined;
}

/** The attributes of a span or of the server, by name. */
export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;
