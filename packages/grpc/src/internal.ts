/**
 * Helpers shared with the other packages of this repository. They are not part of the public API and may change in any
 * release.
 *
 * ```ts
 * import { openPort } from '@svc/grpc/internal';
 *
 * const port = await openPort('127.0.0.1', 50052);
 * // … load and create the server, then:
 * await server.listenOn(port);
 * ```
 */
export { type OpenPort, openPort } from './open-port.ts';
