/** How to reach a cluster. */
export interface Cluster {
  readonly protocol: 'spark-connect' | 'flight-sql';
  readonly host: string;
  readonly port: number;
  readonly hasTls: boolean;
  /** The bearer token. Default: none. */
  readonly token?: string | undefined;
  /** The certificate authorities to trust, as PEM. Default: those of Node. */
  readonly ca?: Buffer | undefined;
}
