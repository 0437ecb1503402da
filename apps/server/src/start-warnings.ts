import { type Config, isLoopback } from '@svc/config';

/** Warnings at the start: who can reach the server, and whether the frames are durable. */
export function startWarnings({ server, storage, auth }: Config): readonly string[] {
  const open = new Set([server.http_bind_address.host, server.grpc_host].filter((host) => !isLoopback(host)));
  const hosts = [...open].join(' or ');
  const reach =
    auth.mode === 'none'
      ? `Anyone who can reach ${hosts} can read and change every frame: there is no authentication.`
      : `Tokens for ${hosts} cross the network unencrypted: there is no TLS.`;
  return [
    ...(open.size > 0 ? [reach] : []),
    ...(storage.parquet_path === undefined
      ? ['Frames are kept in a temporary directory and are lost when this process ends.']
      : []),
  ];
}
