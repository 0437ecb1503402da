import { randomBytes } from 'node:crypto';

/** The place of a request, or of a step of it, in a distributed trace, as W3C Trace Context defines it. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits: the span of the request, or that of the client if the request has no span. */
  readonly spanId: string;
  /** The span that caused this one. Omitted if it is the first of its trace. */
  readonly parentSpanId?: string;
  /** Whether the trace is recorded, as its first service decided. */
  readonly isSampled: boolean;
  /**
   * Whether this service records spans under the ids that it chooses: each step of the request then has a context of its own.
   * Default: the steps have that of the request.
   */
  readonly isRecorded?: boolean;
  /** What tracing systems add to the trace, for the services that are called next. */
  readonly traceState?: string;
}

/** The headers of a request, or the metadata of an RPC, by lower-case name: those of a trace, and perhaps others. */
export type TraceHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Returns the place of a new request in a trace; undefined if it is in none. */
export type StartTrace = (headers: TraceHeaders) => TraceContext | undefined;

/** Version, trace, span, flags. Later versions may add fields. */
const TRACEPARENT = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;
const SAMPLED_FLAG = 1;

/** Returns the context that a client sent; undefined if there is none, or it is malformed. */
export function continueTrace({ traceparent, tracestate }: TraceHeaders): TraceContext | undefined {
  if (typeof traceparent !== 'string') return undefined;
  const [, version, traceId, spanId, flags = '', rest] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || (version === '00' && rest !== undefined)) return undefined;
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED_FLAG) !== 0;
  const hasState = typeof tracestate === 'string' && TRACESTATE.test(tracestate);
  return { traceId, spanId, isSampled, ...(hasState && { traceState: tracestate }) };
}

/** Returns the context of a new span below another one, or of the first span of a new trace. */
export function startSpan(parent?: TraceContext): TraceContext {
  const spanId = randomBytes(8).toString('hex');
  if (parent === undefined) return { traceId: randomBytes(16).toString('hex'), spanId, isSampled: true };
  return { ...parent, spanId, parentSpanId: parent.spanId };
}

/** Returns the headers that pass a trace on to another service. */
export function traceHeaders(trace: TraceContext | undefined): Readonly<Record<string, string>> {
  if (trace === undefined) return {};
  const { traceId, spanId, isSampled, traceState } = trace;
  const traceparent = `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
  return traceState === undefined ? { traceparent } : { traceparent, tracestate: traceState };
}
