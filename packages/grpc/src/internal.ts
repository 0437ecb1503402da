/**
 * Helpers shared with the other packages of this repository. They are not part of the public API and may change in any
 * release.
 *
 * ```ts
 * import { createMemoryStore } from '@svc/frames';
 * import { createGrpcServer } from '@svc/grpc';
 * import { openPort } from '@svc/grpc/internal';
 * import { createService } from '@svc/service';
 *
 * const port = await openPort('127.0.0.1', 50052);
 * // Clients wait until the server is there.
 * const server = createGrpcServer({ service: createService({ store: createMemoryStore() }) });
 * await server.listenOn(port);
 * ```
 */
export { type OpenPort, openPort } from './open-port.ts';
