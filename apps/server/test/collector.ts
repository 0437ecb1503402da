import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A span as a collector receives it. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code?: number; readonly message?: string };
  /** By name. */
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A stand-in for an OpenTelemetry collector, which speaks OTLP over HTTP; it ends with the test. */
export interface Collector {
  readonly url: string;
  /** The bodies, in order of arrival. */
  readonly bodies: string[];
  readonly headers: IncomingHttpHeaders[];
  readonly paths: (string | undefined)[];
  readonly spans: ReceivedSpan[];
  /** The attributes of the sender. */
  resource(): Readonly<Record<string, unknown>>;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface Body {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<ReceivedSpan, 'attributes'> & { readonly attributes: readonly Attribute[] })[];
    }[];
  }[];
}

function byName(attributes: readonly Attribute[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      'intValue' in value ? Number(value['intValue']) : Object.values(value)[0],
    ]),
  );
}

/** Starts a collector. `answer` responds; by default it accepts everything. */
export async function startCollector(
  answer: (response: ServerResponse) => void = (response) => response.end('{}'),
  tls?: { readonly cert: string; readonly key: string },
): Promise<Collector> {
  const bodies: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const paths: (string | undefined)[] = [];
  const listener: RequestListener = (request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      bodies.push(text);
      headers.push(request.headers);
      paths.push(request.url);
      answer(response);
    });
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const parsed = (): Body[] => bodies.map((text) => JSON.parse(text) as Body);
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    headers,
    paths,
    get spans() {
      return parsed()
        .flatMap(({ resourceSpans }) => resourceSpans)
        .flatMap(({ scopeSpans }) => scopeSpans)
        .flatMap(({ spans }) => spans.map((span) => ({ ...span, attributes: byName(span.attributes) })));
    },
    resource: () => byName(parsed()[0]?.resourceSpans[0]?.resource.attributes ?? []),
  };
}
