import { Agent, request as httpRequest } from 'node:http';
import { Agent as TlsAgent, request as httpsRequest } from 'node:https';

/** How a collector answered. */
export interface SendResult {
  /** Whether the same spans may be sent again later. */
  readonly canRetry: boolean;
  /** When to send them again, if the collector says so. */
  readonly retryAfterMs?: number | undefined;
  /** Why the spans were not accepted. Undefined if they were. */
  readonly problem?: string;
  /** The number of spans that the collector has refused. */
  readonly rejected: number;
}

/** Sends the body of an export request to a collector. It never rejects. */
export interface SpanSender {
  send(body: string, signal: AbortSignal): Promise<SendResult>;
  close(): void;
}

/** Options of `createSpanSender`. */
export interface SpanSenderOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The authorities of the collector's certificate, in PEM. Default: the well-known ones. */
  readonly ca?: string | undefined;
}

/** The most bytes that are read of a response; that of a collector is short. */
const MAX_RESPONSE_BYTES = 16 * 1024;
/** The statuses after which OTLP allows to send again. */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Creates the sender for one collector. Node's own client: it is loaded anyway, and takes authorities for https. */
export function createSpanSender({ url, headers, ca }: SpanSenderOptions): SpanSender {
  const isTls = url.startsWith('https:');
  const agent = isTls ? new TlsAgent({ ...KEPT_ALIVE, ca }) : new Agent(KEPT_ALIVE);
  const open = isTls ? httpsRequest : httpRequest;
  const target = `${url}/v1/traces`;
  return {
    send: (body, signal) =>
      new Promise((resolve) => {
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

/** Reads `partialSuccess.rejectedSpans`, which is a number or its text. Any other response counts as a success. */
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
