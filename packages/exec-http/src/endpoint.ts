import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '@svc/errors';
import { type Call, DEFAULT_TENANT } from '@svc/frames';
import type { Service } from '@svc/service';
import type { Context, Hono } from 'hono';
import { errorResponse } from './error-response.ts';

/** The raw request and answer, there only where the app runs on `@hono/node-server`. */
interface NodeBindings {
  readonly incoming?: Pick<IncomingMessage, 'headers' | 'httpVersion' | 'url'>;
  readonly outgoing?: { destroy(): unknown };
}

/** What a handler finds in its context. */
export interface ExecEnv {
  Bindings: NodeBindings;
}

/** One request on its way: what the handlers need to answer it. */
export interface Exchange {
  readonly c: Context<ExecEnv>;
  readonly call: Call;
  /** Says how the request ended; the first word counts. A handler whose answer is a stream says it when that ends. */
  report(status: number, error?: ServiceError): void;
}

/** Answers one method of a path. */
export type Handler = (exchange: Exchange) => Promise<Answer> | Answer;

/** An answer; `isStreaming` where its end is not yet known. */
export interface Answer {
  readonly response: Response;
  readonly isStreaming?: boolean;
}

/** The methods a path answers. HEAD comes with GET. */
export type Handlers = Partial<Record<'GET' | 'PUT' | 'PATCH' | 'DELETE', Handler>>;

const SANE_REQUEST_ID = /^[\w.:/+=@-]{1,128}$/;

/** Answers a path: finds the handler of the method, or says with 405 which methods there are. */
export function addEndpoint(app: Hono<ExecEnv>, path: string, service: Service, handlers: Handlers): void {
  app.all(path, async (c) => {
    const handler = handlerOf(handlers, c.req.method);
    const response = await answerRequest(c, service, handler);
    if (response.status === 405) response.headers.set('allow', allowed(handlers));
    return response;
  });
}

/** Answers a request with a handler: the answer gets a request id, a failure its JSON, the observer its event. */
export async function answerRequest(c: Context<ExecEnv>, service: Service, handler: Handler): Promise<Response> {
  const exchange = createExchange(c, service);
  const { requestId } = exchange.call;
  try {
    const { response, isStreaming = false } = await handler(exchange);
    if (!isStreaming) exchange.report(response.status);
    response.headers.set('x-request-id', requestId);
    return response;
  } catch (thrown) {
    const { response, error } = errorResponse(thrown, requestId);
    exchange.report(response.status, error);
    return response;
  }
}

function createExchange(c: Context<ExecEnv>, service: Service): Exchange {
  const startMs = performance.now();
  const sent = c.req.header('x-request-id');
  const requestId = sent !== undefined && SANE_REQUEST_ID.test(sent) ? sent : randomUUID();
  let isReported = false;
  return {
    c,
    call: { tenant: DEFAULT_TENANT, requestId, signal: cancelledSignal(c.req.raw.signal) },
    report: (status, error) => {
      if (isReported) return;
      isReported = true;
      service.observe({
        kind: 'request_answered',
        requestId,
        protocol: 'http',
        operation: `${c.req.method} ${c.req.path}`,
        status,
        durationMs: performance.now() - startMs,
        ...(error && { error }),
      });
    },
  };
}

/** The request's signal with a reason that has a code. */
function cancelledSignal(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const cancel = (): void => controller.abort(new ServiceError('cancelled', 'The client closed the connection.'));
  if (signal.aborted) cancel();
  else signal.addEventListener('abort', cancel, { once: true });
  return controller.signal;
}

function handlerOf(handlers: Handlers, method: string): Handler {
  const name = method === 'HEAD' ? 'GET' : method;
  const found = Object.entries(handlers).find(([key]) => key === name);
  return (
    found?.[1] ??
    (() => {
      throw new ServiceError('method_not_allowed', `This path does not answer ${method}.`);
    })
  );
}

function allowed(handlers: Handlers): string {
  return Object.keys(handlers)
    .flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    .join(', ');
}
