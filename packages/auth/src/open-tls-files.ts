import type { AuthEvent } from './auth-event.ts';
import { loadTlsFiles, type TlsFiles, type TlsFilesOptions } from './tls-files.ts';
import { watchFiles } from './watch-files.ts';

/** The files of TLS, read again when they change. */
export interface WatchedTlsFiles {
  /** The last usable files. */
  readonly current: TlsFiles;
  /** Whether the files have changed since and cannot be used. */
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
