import type { TlsOptions } from 'node:tls';
import { type HandshakeFailure, openTlsFiles, TlsFileError, type WatchedTlsFiles } from '@svc/auth';
import type { Finding, LoadedConfig } from '@svc/config';
import type { TlsHealth } from '@svc/service';
import { createLogObserver } from '../observers/log-observer.ts';
import type { Log } from '../observers/log.ts';

/** The TLS of both listeners. */
export interface ListenerTls {
  /** Certificate and key; a listener takes over the changed ones. */
  readonly files: WatchedTlsFiles;
  /** What does not change: whether clients need a certificate. */
  readonly options: Pick<TlsOptions, 'rejectUnauthorized' | 'requestCert'>;
  /** Returns the state of the certificate. */
  readonly health: () => TlsHealth;
  /** Called when a handshake fails. */
  readonly onFailure: (failure: HandshakeFailure) => void;
}

/** The TLS of a configuration; undefined if it has none. Or the problem of its files. */
export type OpenedTls = { readonly tls: ListenerTls | undefined } | { readonly problem: Finding };

/** Opens the files of TLS of a configuration. */
export async function openConfiguredTls({ config, sources }: LoadedConfig, log: Log): Promise<OpenedTls> {
  const { cert_file: certFile, key_file: keyFile, client_ca_file: clientCaFile, min_version: minVersion } = config.tls;
  if (certFile === undefined || keyFile === undefined) return { tls: undefined };
  try {
    const onEvent = createLogObserver(log);
    const files = await openTlsFiles({ certFile, keyFile, clientCaFile, minVersion, onEvent });
    const options = {
      requestCert: clientCaFile !== undefined,
      rejectUnauthorized: config.tls.client_certificates === 'required' && clientCaFile !== undefined,
    };
    // Scanners cause them at any rate, so they are not in the log of normal operation.
    const onFailure = (failure: HandshakeFailure): void => log.debug('tls_handshake_failed', { ...failure });
    const health = (): TlsHealth => ({ status: files.isStale ? 'degraded' : 'ok', expires: files.current.expires });
    return { tls: { files, options, health, onFailure } };
  } catch (error) {
    if (!(error instanceof TlsFileError)) throw error;
    const { setting, message } = error;
    return { problem: { source: sources.tls[setting], setting: `tls.${setting}`, message, hint: HINTS[setting] } };
  }
}

const HINTS: Readonly<Record<TlsFileError['setting'], string>> = {
  cert_file: 'Name a PEM file with a valid certificate of this server, then those of its intermediate authorities.',
  key_file: 'Name a PEM file with the private key of tls.cert_file, without a passphrase.',
  client_ca_file: 'Name a PEM file with the certificates of the authorities that sign those of clients.',
};
