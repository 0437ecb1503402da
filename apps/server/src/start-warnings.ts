import { type Config, isLoopback } from '@svc/config';

/** Warnings at the start: who can reach the server, and whether the frames are durable. */
export function startWarnings({ server, metrics, storage, auth, tls }: Config): readonly string[] {
  const frames = openHosts([server.http_bind_address.host, server.grpc_host]);
  const scraped = openHosts(metrics.enabled && metrics.bind_address !== undefined ? [metrics.bind_address.host] : []);
  const warnings: string[] = [];
  if (auth.mode === 'none') {
    if (frames.length > 0) warnings.push(openTo(frames, tls, 'read and change every frame'));
    if (scraped.length > 0) warnings.push(openTo(scraped, tls, 'read the metrics'));
  } else if (tls.cert_file === undefined) {
    const hosts = [...new Set([...frames, ...scraped])];
    if (hosts.length > 0) {
      warnings.push(`Tokens for ${hosts.join(' or ')} cross the network unencrypted: there is no TLS.`);
    }
  }
  if (storage.parquet_path === undefined) {
    warnings.push('Frames are kept in a temporary directory and are lost when this process ends.');
  }
  return warnings;
}

/** Returns the hosts that other machines can reach. */
function openHosts(hosts: readonly string[]): readonly string[] {
  return [...new Set(hosts.filter((host) => !isLoopback(host)))];
}

function openTo(
  hosts: readonly string[],
  { client_ca_file: clientCa, client_certificates: certificates }: Config['tls'],
  what: string,
): string {
  const isGuarded = clientCa !== undefined && certificates === 'required';
  const named = hosts.join(' or ');
  const who = isGuarded
    ? `Every client of ${named} with a certificate of tls.client_ca_file`
    : `Anyone who can reach ${named}`;
  return `${who} can ${what}: there is no authentication.`;
}
