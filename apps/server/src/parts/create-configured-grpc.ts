import type { Config } from '@svc/config';
import { createGrpcServer, type GrpcServer } from '@svc/grpc';
import type { Service } from '@svc/service';
import type { ListenerTls } from './open-tls.ts';

/** Creates the gRPC server of a configuration; it does not listen yet. */
export function createConfiguredGrpc(
  config: Config,
  service: Service,
  { tls, httpPort }: { readonly tls: ListenerTls | undefined; readonly httpPort: number },
): GrpcServer {
  const { max_connections: maxConnections, first_request_timeout_ms: firstCallMs } = config.server;
  const { max_message_bytes: maxMessageBytes, idle_timeout_ms: connectionIdleMs } = config.grpc;
  const { idle_timeout_ms: idleTimeoutMs, min_body_bytes_per_second: minUploadBytesPerSecond } = config.http;
  return createGrpcServer({
    service,
    httpPort,
    idleTimeoutMs,
    minUploadBytesPerSecond,
    maxConnections,
    firstCallMs,
    maxMessageBytes,
    connectionIdleMs,
    // SQL for the database passes through HTTP only.
    defaultEngine: config.sql.default_engine === 'scheduler' ? 'scheduler' : 'local',
    ...(tls && { tls: { ...tls.options, ...tls.files.current.context }, onHandshakeFailure: tls.onFailure }),
  });
}
