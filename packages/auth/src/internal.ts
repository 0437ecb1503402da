/**
 * Helpers shared with the other packages of this repository. They are not part of the public API and may change in any
 * release.
 *
 * ```ts
 * import { trackHandshakes } from '@svc/auth/internal';
 * import { createServer } from 'node:tls';
 *
 * const server = createServer();
 * trackHandshakes(server, { onFailure: ({ address, code }) => console.log(address, code) });
 * ```
 */
export { TENANT_RULE } from './credentials.ts';
export {
  type ConnectionLimitOptions,
  type FindConnection,
  type Handshakes,
  limitConnections,
  type LimitedConnection,
  type PlainClient,
  trackHandshakes,
  type TrackHandshakesOptions,
} from './limit-connections.ts';
