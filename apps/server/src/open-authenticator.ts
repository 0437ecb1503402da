import { type Authenticator, CallersFileError, openAuthenticator } from '@svc/auth';
import type { Finding, LoadedConfig } from '@svc/config';
import type { Observer } from '@svc/service';

/** The authenticator of a configuration; undefined if authentication is off. Or the problem that keeps it from opening. */
export type OpenedAuthenticator = { readonly authenticator: Authenticator | undefined } | { readonly problem: Finding };

/** Opens the authenticator of a configuration. */
export async function openConfiguredAuthenticator(
  { config, sources }: LoadedConfig,
  observe: Observer,
): Promise<OpenedAuthenticator> {
  const { callers_file: callersFile } = config.auth;
  if (callersFile === undefined) return { authenticator: undefined };
  try {
    return { authenticator: await openAuthenticator({ callersFile, onEvent: observe }) };
  } catch (error) {
    if (!(error instanceof CallersFileError)) throw error;
    const problem = {
      source: sources.auth.callers_file,
      setting: 'auth.callers_file',
      message: error.message,
      hint: 'Correct the file, or name another one.',
    };
    return { problem };
  }
}
