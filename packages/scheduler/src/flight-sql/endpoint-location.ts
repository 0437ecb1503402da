import type { flight } from '@svc/proto';
import type { Cluster } from '../cluster.ts';
import { schedulerFailed } from '../scheduler-failed.ts';

/** Says that the data is on the connection that its ticket came from. */
const REUSE = 'arrow-flight-reuse-connection:';

/**
 * Returns the server that has the data of an endpoint: the cluster itself, or another port of its host. Credentials are
 * not sent to other hosts, or without TLS if the cluster has it.
 */
export function serverOf({ location }: flight.FlightEndpoint, cluster: Cluster): Cluster {
  if (location.length === 0) return cluster;
  for (const { uri } of location) {
    const server = serverAt(uri, cluster);
    if (server !== undefined) return server;
  }
  throw schedulerFailed('The scheduler keeps the rows on another host, and they are read only from its own.', {
    hint: 'Let the scheduler answer itself: many have a setting for a proxy or for results of the coordinator.',
  });
}

function serverAt(uri: string, cluster: Cluster): Cluster | undefined {
  const [, scheme = '', host = '', port] =
    /^([a-z0-9+-]+:)\/\/(\[[^\]]*\]|[^:/?]*)(?::(\d{1,5}))?(?:[/?]|$)/i.exec(uri) ?? [];
  if (scheme.toLowerCase() === REUSE) return cluster;
  const hasTls = TLS[scheme.toLowerCase()];
  const isSameHost = host.replace(/^\[|\]$/g, '').toLowerCase() === cluster.host.toLowerCase();
  if (hasTls === undefined || !isSameHost || port === undefined) return undefined;
  if (cluster.hasTls && !hasTls) return undefined;
  return { ...cluster, hasTls, port: Number(port) };
}

const TLS: Readonly<Record<string, boolean | undefined>> = { 'grpc:': false, 'grpc+tcp:': false, 'grpc+tls:': true };
