import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { ERROR_CODES, ServiceError, toErrorBody } from '@svc/errors';
import { errorResponse } from '@svc/exec-http';
import type { Observer } from '@svc/service';
import type { Connections } from './connections.ts';
import { reportUnrouted } from './report-unrouted.ts';

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

/** Refuses a request and closes its connection, which cannot be parsed any further. */
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

/** A request that is refused, and the observer of that. */
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

/** Reports a refused request and returns the bytes of its response, which closes the connection. */
export function rawResponse(error: ServiceError, refused: Refused): string {
  const { status, headers, body } = closingResponse(error, refused);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body.toString()].join('\r\n');
}
