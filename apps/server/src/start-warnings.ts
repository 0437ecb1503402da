import { BlockList, isIP } from 'node:net';
import type { Config } from '@svc/config';

/** What an operator should know at the start: who can reach the server, and what becomes of the frames. */
export function startWarnings({ server, storage }: Config): readonly string[] {
  const open = [server.http_bind_address.host, server.grpc_host].filter((host) => !isLoopback(host));
  const paths = [storage.data_dir, storage.parquet_path, storage.duckdb_path].filter((path) => path !== undefined);
  return [
    ...(open.length > 0
      ? [
          `Anyone who can reach ${[...new Set(open)].join(' or ')} can read and change every frame: there is no authentication.`,
        ]
      : []),
    paths.length > 0
      ? 'Frames are kept in memory and end with this process: the directories of [storage] have no effect yet.'
      : 'Frames are kept in memory and end with this process.',
  ];
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

function isLoopback(host: string): boolean {
  const version = isIP(host);
  return version === 0 ? host === 'localhost' : LOOPBACK.check(host, version === 6 ? 'ipv6' : 'ipv4');
}
