import { readFileSync } from 'node:fs';
import type { TlsOptions } from 'node:tls';
import {
  type Authenticator,
  CallersFileError,
  type HandshakeFailure,
  isKeySetUrl,
  type JwtOptions,
  KeySetError,
  openAuthenticator,
  openTlsFiles,
  TlsFileError,
  type WatchedTlsFiles,
} from '@svc/auth';
import type { Config, Finding, LoadedConfig } from '@svc/config';
import type { Observer, TlsHealth } from '@svc/service';
import { createLogObserver } from '../observers/log-observer.ts';
import type { Log } from '../observers/log.ts';

/**
 * The authenticator of a configuration; undefined if authentication is off. Or the problem of the configuration, or of
 * a server in it.
 */
export type OpenedAuthenticator =
  | { readonly authenticator: Authenticator | undefined }
  | { readonly problem: Finding; readonly isConfiguration: boolean };

/** Opens the authenticator of a configuration. */
export async function openConfiguredAuthenticator(
  { config, sources }: LoadedConfig,
  observe: Observer,
): Promise<OpenedAuthenticator> {
  const { mode, callers_file: callersFile } = config.auth;
  if (mode === 'none') return { authenticator: undefined };
  try {
    return { authenticator: await openAuthenticator({ callersFile, jwt: jwtOptions(config), onEvent: observe }) };
  } catch (error) {
    const name = error instanceof CallersFileError ? 'callers_file' : error instanceof KeySetError ? 'jwks' : undefined;
    if (name === undefined || !(error instanceof Error)) throw error;
    const isConfiguration = name === 'callers_file' || !isKeySetUrl(config.auth.jwks ?? '');
    const problem = {
      source: sources.auth[name],
      setting: `auth.${name}`,
      message: error.message,
      hint: isConfiguration
        ? 'Correct the file, or name another one.'
        : 'Check the URL, and that its server is running.',
    };
    return { problem, isConfiguration };
  }
}

function jwtOptions({ auth }: Config): JwtOptions | undefined {
  const { jwks, jwt_issuer: issuer, jwt_audience: audience, ca_file: caFile } = auth;
  if (jwks === undefined || issuer === undefined || audience === undefined) return undefined;
  const ca = caFile === undefined ? undefined : readFileSync(caFile, 'utf8');
  return { jwks, issuer, audience, ca, tenantClaim: auth.tenant_claim, permissionsClaim: auth.permissions_claim };
}

/** The TLS of both listeners. */
export interface ListenerTls {
  /** Certificate and key; a listener takes over the changed ones. */
  readonly files: WatchedTlsFiles;
  /** What does not change: clients may need a certificate. */
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
