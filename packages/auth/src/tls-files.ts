import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions, type SecureVersion } from 'node:tls';
import { type AuthEvent, FileError, readTextFile, watchFiles } from './watch-files.ts';

/** The settings of the files of TLS. */
export type TlsFileSetting = 'cert_file' | 'key_file' | 'client_ca_file';

/** The files of TLS. */
export interface TlsFilesOptions {
  /** PEM: the certificate of the server, then those of its intermediate authorities. */
  readonly certFile: string;
  /** PEM: the private key of the certificate, not encrypted. */
  readonly keyFile: string;
  /** PEM: the authorities behind the certificates of clients. Default: clients are not asked for a certificate. */
  readonly clientCaFile?: string | undefined;
  /** The lowest version of TLS. Default 1.2. */
  readonly minVersion?: '1.2' | '1.3' | undefined;
  /** The clock, in ms since 1970. */
  readonly now?: (() => number) | undefined;
}

/** A usable set of files. */
export interface TlsFiles {
  /** For `setSecureContext` of a TLS server. */
  readonly context: SecureContextOptions;
  /** When the certificate of the server expires. */
  readonly expires: Date;
}

/** An unusable file of TLS. The message is for the operator and quotes no part of a key. */
export class TlsFileError extends Error {
  override readonly name = 'TlsFileError';
  /** The setting of the file. */
  readonly setting: TlsFileSetting;

  constructor(setting: TlsFileSetting, path: string, reason: string, options?: ErrorOptions) {
    super(`The ${WHAT[setting]} ${JSON.stringify(path)} cannot be used. ${reason}`, options);
    this.setting = setting;
  }
}

const WHAT: Readonly<Record<TlsFileSetting, string>> = {
  cert_file: 'certificate file',
  key_file: 'key file',
  client_ca_file: 'file of client authorities',
};

const VERSIONS = { '1.2': 'TLSv1.2', '1.3': 'TLSv1.3' } as const satisfies Record<string, SecureVersion>;

/** Larger than the bundle of all authorities of a system. */
const MAX_FILE_BYTES = 2 ** 20;

/** Reads and checks the files of TLS. Throws `TlsFileError`. */
export async function loadTlsFiles(options: TlsFilesOptions): Promise<TlsFiles> {
  const { certFile, keyFile, clientCaFile, minVersion = '1.2', now = Date.now } = options;
  const cert = await readPem('cert_file', certFile);
  const key = await readPem('key_file', keyFile);
  const ca = clientCaFile === undefined ? undefined : await readPem('client_ca_file', clientCaFile);
  const [leaf] = certificatesOf('cert_file', certFile, cert);
  if (clientCaFile !== undefined) certificatesOf('client_ca_file', clientCaFile, ca ?? '');
  const expires = checkDates(leaf, certFile, now());
  if (!leaf.checkPrivateKey(privateKeyOf(keyFile, key))) {
    throw new TlsFileError('key_file', keyFile, `It is not the key of the certificate in ${JSON.stringify(certFile)}.`);
  }
  // Without authorities of clients, an empty list: Node would load the well-known ones for each context.
  const context = { cert, key, ca: ca ?? [], minVersion: VERSIONS[minVersion] };
  try {
    createSecureContext(context);
  } catch (error) {
    throw new TlsFileError('cert_file', certFile, `OpenSSL refuses it: ${reasonOf(error)}.`, { cause: error });
  }
  return { context, expires };
}

async function readPem(setting: TlsFileSetting, path: string): Promise<string> {
  try {
    return await readTextFile(path, MAX_FILE_BYTES);
  } catch (error) {
    if (error instanceof FileError) throw new TlsFileError(setting, path, error.message, { cause: error });
    throw error;
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** OpenSSL ignores what it does not recognise, so every certificate is parsed here. */
function certificatesOf(setting: TlsFileSetting, path: string, pem: string): [X509Certificate, ...X509Certificate[]] {
  try {
    const [first, ...rest] = (pem.match(CERTIFICATE) ?? []).map((block) => new X509Certificate(block));
    if (first !== undefined) return [first, ...rest];
  } catch (error) {
    throw new TlsFileError(setting, path, 'It has a damaged certificate.', { cause: error });
  }
  throw new TlsFileError(setting, path, 'It does not contain a PEM certificate.');
}

function checkDates({ validFrom, validTo }: X509Certificate, path: string, nowMs: number): Date {
  const from = new Date(validFrom);
  const to = new Date(validTo);
  if (from.getTime() > nowMs) {
    throw new TlsFileError('cert_file', path, `The certificate is not valid before ${from.toISOString()}.`);
  }
  if (to.getTime() <= nowMs) {
    throw new TlsFileError('cert_file', path, `The certificate expired at ${to.toISOString()}.`);
  }
  return to;
}

function privateKeyOf(path: string, pem: string): KeyObject {
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(pem)) {
    throw new TlsFileError('key_file', path, 'The key is encrypted with a passphrase.');
  }
  try {
    return createPrivateKey(pem);
  } catch (error) {
    throw new TlsFileError('key_file', path, 'It does not contain a PEM private key.', { cause: error });
  }
}

/** The reason in an error of OpenSSL, such as `ee key too small`. */
function reasonOf(error: unknown): string {
  if (error instanceof Error && 'reason' in error && typeof error.reason === 'string') return error.reason;
  return error instanceof Error ? error.message : String(error);
}

/** The files of TLS, read again when they change. */
export interface WatchedTlsFiles {
  /** The last usable files. */
  readonly current: TlsFiles;
  /** True if the files have changed since and cannot be used. */
  readonly isStale: boolean;
  /** Calls the listener with every later set of usable files. */
  onChange(listener: (files: TlsFiles) => void): void;
  close(): void;
}

/** Options of `openTlsFiles`. */
export interface OpenTlsFilesOptions extends TlsFilesOptions {
  /** Called when changed files were read, or could not be used. Default: none. */
  readonly onEvent?: ((event: AuthEvent) => void) | undefined;
  /** How often to look for changes, in milliseconds. Default 1000. */
  readonly pollMs?: number | undefined;
}

/**
 * Reads the files of TLS, and again when one of them changes. If they cannot be used then, such as a certificate without
 * its key, those from before stay in force. Throws `TlsFileError` if they cannot be used now.
 */
export async function openTlsFiles(options: OpenTlsFilesOptions): Promise<WatchedTlsFiles> {
  const { certFile, keyFile, clientCaFile, onEvent = () => {}, pollMs } = options;
  const listeners: ((files: TlsFiles) => void)[] = [];
  let isStale = false;
  const files = await watchFiles({
    paths: [certFile, keyFile, ...(clientCaFile === undefined ? [] : [clientCaFile])],
    load: () => loadTlsFiles(options),
    onChange: (loaded) => {
      isStale = false;
      for (const listener of listeners) listener(loaded);
      onEvent({ kind: 'certificate_loaded', path: certFile, expires: loaded.expires });
    },
    onFailure: (error) => {
      isStale = true;
      onEvent({ kind: 'certificate_refused', reason: error instanceof Error ? error.message : String(error) });
    },
    pollMs,
  });
  return {
    get current() {
      return files.current;
    },
    get isStale() {
      return isStale;
    },
    onChange: (listener) => void listeners.push(listener),
    close: () => files.close(),
  };
}
