import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:tls';
import type { Address } from '@svc/config';

/**
 * Recognises a server by its certificate, which it shows before it asks for that of the client. No request is sent, so
 * the certificate need not be trusted.
 */
export function identifyTls(certFile: string): (address: Address, signal: AbortSignal) => Promise<string | undefined> {
  return async ({ host, port }, signal) => {
    const socket = connect({ host, port, rejectUnauthorized: false });
    // An error after the handshake, such as a refused client, does not matter.
    socket.on('error', () => undefined);
    try {
      const [own] = await Promise.all([readFile(certFile), once(socket, 'secureConnect', { signal })]);
      const isOwn = socket.getPeerX509Certificate()?.fingerprint256 === new X509Certificate(own).fingerprint256;
      return isOwn ? 'server with the certificate of tls.cert_file' : undefined;
    } catch {
      return undefined;
    } finally {
      socket.destroy();
    }
  };
}
