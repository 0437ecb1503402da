import { randomUUID } from 'node:crypto';
import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { ERROR_CODES, ServiceError, toErrorBody } from '@svc/errors';
import { errorResponse } from '@svc/exec-http';
import type { Connections } from './connections.ts';

/** Answers a malformed request, or one with too large a head, with the usual JSON error, and closes the connection. */
export function answerClientErrors(server: Server, connections: Connections): void {
  // An expectation other than 100-continue may be ignored; Node would answer it without JSON.
  server.on('checkExpectation', (request, response) => connections.answer(request, response));
  // Node would close the connection without a response.
  server.on('connect', (_request, socket: Socket) => {
    const error = new ServiceError('method_not_allowed', 'This server does not answer CONNECT.');
    connections.whenAnswered(socket, () => socket.end(rawResponse(error)));
  });
  server.on('clientError', (cause: NodeJS.ErrnoException, socket: Socket) => {
    // The late head has been sent, but the paused connection has not read it.
    if (cause.code === 'ERR_HTTP_REQUEST_TIMEOUT' && connections.isPaused(socket)) return;
    if (cause.code === 'ECONNRESET' || !socket.writable || connections.isReceiving(socket)) socket.destroy();
    else connections.whenAnswered(socket, () => socket.end(rawResponse(errorOf(cause))));
  });
}

/** Refuses a request and closes its connection, which cannot be parsed any further. */
export function refuseAndClose(response: ServerResponse, error: ServiceError): void {
  const { status, headers, body } = closingResponse(error);
  response.writeHead(status, headers).end(body);
}

/** The response to a request whose target and Host do not form a URL. */
export function malformedRequest(): Response {
  const error = new ServiceError('invalid_argument', 'The request target and Host do not form a valid URL.');
  return errorResponse(error, randomUUID(), { 'cross-origin-resource-policy': 'same-origin' });
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

function closingResponse(error: ServiceError): { status: number; headers: Record<string, string>; body: string } {
  const requestId = randomUUID();
  const body = JSON.stringify(toErrorBody(error, requestId));
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    'content-length': String(Buffer.byteLength(body)),
    'x-request-id': requestId,
    connection: 'close',
  };
  return { status: ERROR_CODES[error.code].http, headers, body };
}

/** The bytes of a response that refuses a request and closes the connection. */
export function rawResponse(error: ServiceError): string {
  const { status, headers, body } = closingResponse(error);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n');
}
