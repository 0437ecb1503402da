import { Agent, request as httpRequest } from 'node:http';
import { Agent as TlsAgent, request as httpsRequest } from 'node:https';

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
  /** Undefined values are left out. */
  readonly attributes: SpanAttributes;
  /** The code of a failure. Undefined if nothing failed here: a mistake of the client is no failure of the server. */
  readonly failure: string | undefined;
}

/** The attributes of a span or of the server, by name. */
export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

/** How a collector answered. */
export interface SendResult {
  /** The same spans may be sent again later. */
  readonly canRetry: boolean;
  /** When to send them again, if the collector says so. */
  readonly retryAfterMs?: number | undefined;
  /** Why the spans were not accepted. Undefined if they were. */
  readonly problem?: string;
  /** The number of spans refused by the collector. */
  readonly rejected: number;
}

/** The most bytes to read of a response: a collector sends few. */
const MAX_RESPONSE_BYTES = 16 * 1024;
/** OTLP allows to send again after these statuses. */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Creates the sender for one collector; `ca` are its authorities. Node's own client: it is loaded anyway. */
export function createSpanSender(url: string, headers: Readonly<Record<string, string>>, ca: string | undefined) {
  const isTls = url.startsWith('https:');
  const agent = isTls ? new TlsAgent({ ...KEPT_ALIVE, ca }) : new Agent(KEPT_ALIVE);
  const open = isTls ? httpsRequest : httpRequest;
  const target = `${url}/v1/traces`;
  return {
    /** Never rejects. */
    send: (body: string, signal: AbortSignal) =>
      new Promise<SendResult>((resolve) => {
        const length = Buffer.byteLength(body);
        const sent = { ...headers, 'content-type': 'application/json', 'content-length': length };
        const request = open(target, { method: 'POST', agent, headers: sent, signal });
        const fail = (error: NodeJS.ErrnoException): void =>
          resolve({ canRetry: true, problem: signal.aborted ? LATE : (error.code ?? error.message), rejected: 0 });
        request.on('error', fail);
        request.on('response', (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => {
            if (text.length < MAX_RESPONSE_BYTES) text += chunk;
            else request.destroy(new Error('The response is too long.'));
          });
          response.on('error', fail);
          response.on('end', () => resolve(resultOf(response.statusCode ?? 0, response.headers['retry-after'], text)));
        });
        request.end(body);
      }),
    close: () => agent.destroy(),
  };
}

const LATE = 'no response in time';

/** One request at a time. */
const KEPT_ALIVE = { keepAlive: true, maxSockets: 1 };

function resultOf(status: number, retryAfter: string | undefined, text: string): SendResult {
  if (status >= 200 && status < 300) return { canRetry: false, rejected: rejectedSpans(text) };
  const seconds = /^\d{1,5}$/.test(retryAfter ?? '') ? Number(retryAfter) : undefined;
  const retryAfterMs = seconds === undefined ? undefined : seconds * 1000;
  return { canRetry: RETRYABLE.has(status), retryAfterMs, problem: `status ${status}`, rejected: 0 };
}

/** Reads `partialSuccess.rejectedSpans`, a number or its text. Any other response counts as a success. */
function rejectedSpans(text: string): number {
  try {
    const body: unknown = JSON.parse(text);
    const partial: unknown = isObject(body) ? body['partialSuccess'] : undefined;
    const count = Number(isObject(partial) ? partial['rejectedSpans'] : 0);
    return Number.isSafeInteger(count) && count > 0 ? count : 0;
  } catch {
    return 0;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** The numbers of OTLP. */
const KINDS = { internal: 1, server: 2, client: 3 } as const;
const STATUS_ERROR = 2;
/** The flag of a sampled trace, as in `traceparent`. */
const SAMPLED = 1;

/** Returns the body of an export request: `ExportTraceServiceRequest` of OTLP, in its JSON encoding. */
export function otlpBody(resource: SpanAttributes, spans: readonly Span[]): string {
  const scope = { name: '@svc/server', version: resource['service.version'] };
  const scopeSpans = [{ scope, spans: spans.map((span) => otlpSpan(span)) }];
  return JSON.stringify({ resourceSpans: [{ resource: { attributes: otlpAttributes(resource) }, scopeSpans }] });
}

function otlpSpan({ traceId, spanId, parentSpanId, traceState, name, failure, ...span }: Span): object {
  return {
    traceId,
    spanId,
    parentSpanId,
    traceState,
    flags: SAMPLED,
    name,
    kind: KINDS[span.kind],
    startTimeUnixNano: nanoseconds(span.startMs),
    endTimeUnixNano: nanoseconds(span.endMs),
    attributes: otlpAttributes(span.attributes),
    status: failure === undefined ? {} : { code: STATUS_ERROR, message: failure },
  };
}

/** A text, because the number has more digits than a double. */
function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1000)}000`;
}

function otlpAttributes(attributes: SpanAttributes): readonly object[] {
  const list: object[] = [];
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined) list.push({ key, value: otlpValue(value) });
  }
  return list;
}

function otlpValue(value: string | number): object {
  if (typeof value === 'string') return { stringValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
