/** How to reach a cluster. */
export interface Cluster {
  readonly protocol: 'spark-connect' | 'flight-sql';
  readonly host: string;
  readonly port: number;
  readonly hasTls: boolean;
  /** The bearer token. Default: none. */
  readonly token?: string | undefined;
  /** The user of all Spark sessions. Default: the tenant. */
  readonly userId?: string | undefined;
  /** What Spark's logs call the client, before the name of this server. Default: nothing. */
  readonly userAgent?: string | undefined;
  /** The certificate authorities to trust, as PEM. Default: those of Node. */
  readonly ca?: Buffer | undefined;
}

/** Returns the address of a cluster, as gRPC takes it. */
export function addressOf({ host, port }: Cluster): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The maximum size of a message from a cluster. */
export const MAX_MESSAGE_BYTES: number = 128 * 2 ** 20;
