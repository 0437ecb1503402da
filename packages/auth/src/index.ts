/**
 * Who is calling: finds the tenant and the permissions behind the credentials of a request.
 *
 * ```ts
 * import { openAuthenticator } from '@svc/auth';
 *
 * const authenticator = await openAuthenticator({ callersFile: '/etc/service/callers.toml' });
 * const caller = await authenticator.authenticate({ authorization: 'Bearer svc_…' });
 * caller.tenant; // 'alpha'
 * caller.permissions.has('write'); // false
 * ```
 */
export type { AuthEvent } from './auth-event.ts';
export {
  type Authenticator,
  type AuthenticatorOptions,
  type JwtOptions,
  loadCallers,
  openAuthenticator,
} from './authenticator.ts';
export { type Caller, type Permission, PERMISSIONS } from '@svc/frames';
export { isTenant } from './caller.ts';
export { type Callers, CallersFileError, parseCallers, type TokenCaller } from './callers-file.ts';
export { clientCertificateOf } from './client-certificate.ts';
export { addToken, type NewToken, removeToken } from './edit-callers.ts';
export {
  type ClientCertificate,
  type Credentials,
  parseAuthorization,
  permissionDenied,
  unauthenticated,
} from './credentials.ts';
export { isKeySetUrl, KeySetError } from './key-set-source.ts';
export type { JwtRules } from './jwt.ts';
export type { TenantLimits } from './tenant-limits.ts';
export { createToken, formatToken, hashSecret, type Token } from './token.ts';
export { openTlsFiles, type OpenTlsFilesOptions, type WatchedTlsFiles } from './open-tls-files.ts';
export { loadTlsFiles, TlsFileError, type TlsFiles, type TlsFileSetting, type TlsFilesOptions } from './tls-files.ts';
export type { HandshakeFailure } from './track-handshakes.ts';
