import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import { getRequestListener, type Http2Bindings, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Config } from '@svc/config';
import { writeStreamed } from '@svc/exec-http';
import type { Service } from '@svc/service';
import { answerClientErrors, malformedRequest, refuseAndClose } from './client-errors.ts';
import { type Connections, serveInOrder } from './connections.ts';
import { createApp } from './create-app.ts';
import { continueWhenRead } from './expect-continue.ts';
import { framingProblem } from './framing-problem.ts';
import { endIdleSockets } from './idle-sockets.ts';
import { ignoreUpgrades } from './ignore-upgrades.ts';

/** The maximum size of request line and headers together. */
const MAX_HEAD_BYTES = 64 * 1024;
/** How long a client may take to send its head. */
const HEAD_TIMEOUT_MS = 60_000;

/** Creates the HTTP server; it does not listen yet. `isStarting`: whether other parts are still starting. */
export function createHttpServer(
  config: Config,
  service: Service,
  isStarting: () => boolean,
): { http: Server; connections: Connections } {
  const app = createApp(config, service, isStarting);
  const answer = async (request: Request, env: HttpBindings | Http2Bindings): Promise<Response> => {
    const { incoming, outgoing } = env;
    if (!(incoming instanceof IncomingMessage && outgoing instanceof ServerResponse)) return malformedRequest();
    const response = await app(request, { incoming, outgoing });
    return writeStreamed(response, outgoing) ? RESPONSE_ALREADY_SENT : response;
  };
  const listener = getRequestListener(answer, {
    hostname: 'localhost',
    // The app handles its own errors: only a request that could not be constructed ends here.
    errorHandler: () => malformedRequest(),
  });
  const options = {
    maxHeaderSize: MAX_HEAD_BYTES,
    // The app answers a missing Host in JSON, and an upload may take longer than any fixed time.
    requireHostHeader: false,
    requestTimeout: 0,
    // Starts with the first byte of a request, so it may be shorter than the keep-alive timeout.
    headersTimeout: HEAD_TIMEOUT_MS,
    keepAliveTimeout: config.http.keep_alive_ms,
  };
  const http = createServer(options);
  // Node would drop the headers after the 2000th silently, such as a condition or a second Host. Their bytes are limited.
  http.maxHeadersCount = 0;
  const connections = serveInOrder(http, (request, response) => {
    const problem = framingProblem(request);
    if (problem === undefined) void listener(request, response);
    else refuseAndClose(response, problem);
  });
  answerClientErrors(http, connections);
  continueWhenRead(http, connections);
  ignoreUpgrades(http, connections);
  endIdleSockets(http, connections, config.http.idle_timeout_ms);
  return { http, connections };
}
