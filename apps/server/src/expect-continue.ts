import type { Server } from 'node:http';
import type { Connections } from './connections.ts';

/**
 * Sends `100 Continue` when the body of a request is read for the first time, to clients that wait for it before they
 * send one. Node would send it with every request; a request that is refused for its head then costs its whole body.
 */
export function continueWhenRead(server: Server, connections: Connections): void {
  server.on('checkContinue', (request, response) => {
    request.once('resume', () => {
      if (!response.headersSent) response.writeContinue();
    });
    connections.answer(request, response);
  });
}
