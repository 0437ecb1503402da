import { randomBytes, randomUUID } from 'node:crypto';

/** The context of a request: the first argument of every operation. */
export interface Call {
  /** The tenant whose frames the call sees: that of the caller, if there is one. */
  readonly tenant: string;
  /** The authenticated origin of the call. Omitted if authentication is off: the call may do everything. */
  readonly caller?: Caller | undefined;
  /** The origin of the call, for fair sharing of scarce resources. Calls without a client share as one. */
  readonly client?: Client | undefined;
  /** Identifies the request in responses and in the log. */
  readonly requestId: string;
  /** The place of the request in a distributed trace. Omitted if it is in none. */
  readonly trace?: TraceContext | undefined;
  /** Aborted when the client disconnects, the deadline passes or the server stops. */
  readonly signal: AbortSignal;
  /**
   * True if the signal is aborted, for calls that create their signal on first use: an `AbortSignal` costs more than a
   * short response. Default: `signal.aborted`.
   */
  readonly isCancelled?: boolean;
}

/**
 * The request of a client that causes some work of an engine. A `Call` is one. The tenant and the client share the engine
 * fairly with others; requests without a tenant share as one.
 */
export type RequestOrigin = Pick<Call, 'requestId' | 'trace'> & Partial<Pick<Call, 'tenant' | 'client'>>;

/**
 * What a caller may do. `read`: read, list and describe frames, and SQL over them. `write`: put, append, expire and drop
 * frames; it does not include `read`. `tsdb`: SQL for the time-series database. `scheduler`: SQL on a cluster. `admin`:
 * the pages for operators; no frames.
 */
export const PERMISSIONS = ['read', 'write', 'tsdb', 'scheduler', 'admin'] as const;

/** One of `PERMISSIONS`. */
export type Permission = (typeof PERMISSIONS)[number];

/** The origin of a request, as proved by its credentials. `@svc/auth` finds it. */
export interface Caller {
  /** Identifies the caller in the log: the id of its token, or the subject of its certificate. Not a secret. */
  readonly id: string;
  /** The tenant whose frames the caller sees. */
  readonly tenant: string;
  readonly permissions: ReadonlySet<Permission>;
}

/** The remote end of a connection. */
export interface Client {
  readonly address: string;
  /** Distinguishes the connections of one address. */
  readonly connection: string;
}

/** True if the call is cancelled. Reads `call.signal` only if `call.isCancelled` is not set. */
export function isCancelled(call: Call): boolean {
  return call.isCancelled ?? call.signal.aborted;
}

/** Returns a call that differs only in its signal. Not a spread: the fields of a call may be getters of a class. */
function withSignal({ tenant, caller, client, requestId, trace }: Call, signal: AbortSignal): Call {
  return { tenant, caller, client, requestId, trace, signal };
}

/** Returns the call of a step of a call: it has a span of its own if spans are recorded. */
export function withSpan(call: Call): Call {
  if (call.trace?.isRecorded !== true) return call;
  return { ...withSignal(call, call.signal), trace: startSpan(call.trace) };
}

/** The only tenant if authentication is off. */
export const DEFAULT_TENANT = 'default';

/** Returns the request id the client sent if it is safe to log and to echo, else a new one. */
export function requestIdFrom(sent: string | undefined): string {
  return sent !== undefined && SANE_REQUEST_ID.test(sent) ? sent : randomUUID();
}

/** Not a dot or two alone: no path can name such an id. Not a token or a JWT either: those must not be logged. */
const SANE_REQUEST_ID = /^(?!\.{1,2}$|svc_.{8}_|eyJ[\w-]*\.)[\w.:/+=@-]{1,128}$/;

/** The place of a request, or of a step of it, in a distributed trace, as W3C Trace Context defines it. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits: the span of the request, or that of the client if the request has no span. */
  readonly spanId: string;
  /** The span that caused this one. Omitted if it is the first of its trace. */
  readonly parentSpanId?: string;
  /** True if the trace is recorded, as its first service decided. */
  readonly isSampled: boolean;
  /**
   * True if this service records spans under the ids it chooses: each step of the request then has a context of its own.
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

/** Returns the context a client sent; undefined if there is none, or it is malformed. */
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
