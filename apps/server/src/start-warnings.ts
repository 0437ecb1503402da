import { type Config, isLoopback } from '@svc/config';

/** Warnings at the start: who can reach the server, and whether the frames are durable. */
export function startWarnings({ server, storage }: Config): readonly string[] {
  const open = new Set([server.http_bind_address.host, server.grpc_host].filter((host) => !isLoopback(host)));
  return [
    ...(open.size > 0
      ? [`Anyone who can reach ${[...open].join(' or ')} can read and change every frame: there is no authentication.`]
      : []),
    ...(storage.parquet_path === undefined
      ? ['Frames are kept in a temporary directory and are lost when this process ends.']
      : []),
  ];
}
