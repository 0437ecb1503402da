import { readFileSync } from 'node:fs';
import {
  type Authenticator,
  CallersFileError,
  isKeySetUrl,
  type JwtOptions,
  KeySetError,
  openAuthenticator,
} from '@svc/auth';
import type { Config, Finding, LoadedConfig } from '@svc/config';
import type { Observer } from '@svc/service';

/**
 * The authenticator of a configuration; undefined if authentication is off. Or the problem that keeps it from opening: of
 * the configuration, or of a server that it names.
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
