import type { Span, SpanAttributes } from './span.ts';

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
