import { type Config, isLoopback } from '@svc/config';

/** Warnings at the start: who can reach the server, and whether the frames are durable. */
export function startWarnings({ server, storage, auth, tls }: Config): readonly string[] {
  const open = new Set([server.http_bind_address.host, server.grpc_host].filter((host) => !isLoopback(host)));
  const hosts = [...open].join(' or ');
  const warnings: string[] = [];
  if (open.size > 0 && auth.mode === 'none') warnings.push(openServer(hosts, tls));
  if (open.size > 0 && auth.mode !== 'none' && tls.cert_file === undefined) {
    warnings.push(`Tokens for ${hosts} cross the network unencrypted: there is no TLS.`);
  }
  if (storage.parquet_path === undefined) {
    warnings.push('Frames are kept in a temporary directory and are lost when this process ends.');
  }
  return warnings;
}

function openServer(
  hosts: string,
  { client_ca_file: clientCa, client_certificates: certificates }: Config['tls'],
): string {
  const isGuarded = clientCa !== undefined && certificates === 'required';
  const who = isGuarded
    ? `Every client of ${hosts} with a certificate of tls.client_ca_file`
    : `Anyone who can reach ${hosts}`;
  return `${who} can read and change every frame: there is no authentication.`;
}
