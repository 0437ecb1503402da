import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { ERROR_CODES, ServiceError, toErrorBody } from '@svc/errors';
import { errorResponse } from '@svc/exec-http';
import { DEFAULT_TENANT } from '@svc/frames';
import type { Observer } from '@svc/service';
import { OTHER_ROUTE } from '@svc/service/internal';
import type { Connections } from './connections.ts';

/** Answers a malformed request, or one with too large a head, with the usual JSON error, and closes the connection. */
export function answerClientErrors(server: Server, connections: Connections, observe: Observer): void {
  // An expectation other than 100-continue may be ignored; Node would answer it without JSON.
  server.on('checkExpectation', (request, response) => connections.answer(request, response));
  // Node would close the connection without a response.
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    const error = new ServiceError('method_not_allowed', 'This server does not answer CONNECT.');
    connections.whenAnswered(socket, () => socket.end(rawResponse(error, { observe, socket, request })));
  });
  server.on('clientError', (cause: NodeJS.ErrnoException, socket: Socket) => {
    // The late head has been sent, but the paused connection has not read it.
    if (cause.code === 'ERR_HTTP_REQUEST_TIMEOUT' && connections.isPaused(socket)) return;
    if (cause.code === 'ECONNRESET' || !socket.writable || connections.isReceiving(socket)) socket.destroy();
    else connections.whenAnswered(socket, () => socket.end(rawResponse(errorOf(cause), { observe, socket })));
  });
}

/** Refuses a request and closes its connection: nothing more can be parsed. */
export function refuseAndClose(response: ServerResponse, error: ServiceError, observe: Observer): void {
  const { status, headers, body } = closingResponse(error, { observe, socket: response.socket, request: response.req });
  response.writeHead(status, headers).end(body);
}

/** The response to a request whose target and Host do not form a URL. */
export function malformedRequest(observe: Observer): Response {
  const error = new ServiceError('invalid_argument', 'The request target and Host do not form a valid URL.');
  const requestId = randomUUID();
  const { status, body } = errorParts(error, requestId);
  reportUnrouted(observe, { requestId, status, error, bytes: body.length, socket: undefined });
  return errorResponse(error, requestId, { 'cross-origin-resource-policy': 'same-origin' });
}

function errorOf({ code }: NodeJS.ErrnoException): ServiceError {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new ServiceError('headers_too_large', 'The request line and headers are longer than 64 KiB.');
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new ServiceError('invalid_argument', 'The request line and headers did not arrive in time.');
  }
  return new ServiceError('invalid_argument', 'The request is not valid HTTP/1.1.');
}

/** A refused request, and its observer. */
interface Refused {
  readonly observe: Observer;
  readonly socket: Socket | null;
  /** Undefined if it could not be parsed. */
  readonly request?: IncomingMessage;
}

function errorParts(error: ServiceError, requestId: string): { readonly status: number; readonly body: Buffer } {
  const body = Buffer.from(JSON.stringify(toErrorBody(error, requestId)));
  return { status: ERROR_CODES[error.code].http, body };
}

/** Reports a refused request and returns its response. */
function closingResponse(
  error: ServiceError,
  { observe, socket, request }: Refused,
): { status: number; headers: Record<string, string>; body: Buffer } {
  const requestId = randomUUID();
  const { status, body } = errorParts(error, requestId);
  reportUnrouted(observe, { requestId, status, error, bytes: body.length, request, socket: socket ?? undefined });
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    'content-length': String(body.length),
    'x-request-id': requestId,
    connection: 'close',
  };
  return { status, headers, body };
}

/** Reports a refused request and returns the bytes of its response, with the end of the connection. */
export function rawResponse(error: ServiceError, refused: Refused): string {
  const { status, headers, body } = closingResponse(error, refused);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body.toString()].join('\r\n');
}

/** A request answered without the endpoints. */
export interface UnroutedRequest {
  readonly requestId: string;
  readonly status: number;
  /** Undefined if the request is not refused. */
  readonly error?: ServiceError;
  /** The length of the body of the response. */
  readonly bytes: number;
  /** Undefined if the request could not be parsed. */
  readonly request?: Pick<IncomingMessage, 'headers' | 'method' | 'url'> | undefined;
  readonly socket: Pick<Socket, 'remoteAddress' | 'remotePort'> | undefined;
}

/** Reports the start and the end of a request without an endpoint, such as one in another protocol. */
export function reportUnrouted(observe: Observer, unrouted: UnroutedRequest): void {
  const { requestId, status, error, bytes, request, socket } = unrouted;
  const { method = '', url = '', headers } = request ?? {};
  const { remoteAddress: address, remotePort } = socket ?? {};
  observe({ kind: 'request_started', requestId, protocol: 'http' });
  observe({
    kind: 'request_answered',
    requestId,
    tenant: DEFAULT_TENANT,
    caller: undefined,
    protocol: 'http',
    route: OTHER_ROUTE,
    method,
    status,
    durationMs: 0,
    firstByteMs: 0,
    requestBytes: 0,
    responseBytes: bytes,
    rows: undefined,
    format: undefined,
    error,
    details: {
      client: address === undefined ? undefined : { address, connection: String(remotePort) },
      userAgent: headers?.['user-agent']?.slice(0, MAX_LENGTH),
      operation: `${method} ${url.split('?', 1)[0]?.slice(0, MAX_LENGTH)}`.trim(),
    },
  });
}

/** Longer texts are cut in the log. */
const MAX_LENGTH = 200;
