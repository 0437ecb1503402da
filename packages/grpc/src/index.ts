/**
 * The gRPC API of the data-frame server: Arrow Flight, Flight SQL, frames as Arrow, health and reflection.
 *
 * ```ts
 * import { createMemoryStore } from '@svc/frames';
 * import { createGrpcServer } from '@svc/grpc';
 * import { createService } from '@svc/service';
 *
 * const server = createGrpcServer({ service: createService({ store: createMemoryStore() }) });
 * await server.listen('127.0.0.1', 50052);
 * // …
 * await server.shutdown({ signal: AbortSignal.timeout(10_000) });
 * ```
 */
export { createGrpcServer, type GrpcServer, type GrpcServerOptions, type ShutdownOptions } from './grpc-server.ts';
