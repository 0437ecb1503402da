import type { Server } from 'node:http';
import type { Connections } from './connections.ts';

/**
 * Sends `100 Continue` when the body of a request is first read, to clients that wait for it. Node would send it at once;
 * a request that is refused for its head would then still transfer its whole body.
 */
export function continueWhenRead(server: Server, connections: Connections): void {
  server.on('checkContinue', (request, response) => {
    request.once('resume', () => {
      if (!response.headersSent) response.writeContinue();
    });
    connections.answer(request, response);
  });
}
