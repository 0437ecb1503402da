import type { SecureContextOptions, TlsOptions } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';

/** The credentials of a listener: plain, or with a certificate that can be replaced while the server runs. */
export interface ReplaceableCredentials extends ServerCredentials {
  /** Replaces certificate and key for new connections. */
  update(context: SecureContextOptions): void;
}

/** Creates the credentials of a listener. Undefined: no TLS. */
export function createServerCredentials(tls: TlsOptions | undefined): ReplaceableCredentials {
  return new Credentials(tls);
}

/** grpc-js compares credentials by class, and its own cannot be replaced, or ask for a certificate without requiring it. */
class Credentials extends ServerCredentials implements ReplaceableCredentials {
  constructor(tls: TlsOptions | undefined) {
    super(tls ?? null, tls);
  }

  update(context: SecureContextOptions): void {
    this.updateSecureContextOptions(context);
  }

  _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}
