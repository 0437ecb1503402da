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
export { type AuthEvent, isKeySetUrl, KeySetError } from './watch-files.ts';
export { type Authenticator, type AuthenticatorOptions, type JwtOptions, openAuthenticator } from './authenticator.ts';
export { type Caller, type Permission, PERMISSIONS } from '@svc/frames';
export {
  type ClientCertificate,
  clientCertificateOf,
  type Credentials,
  isTenant,
  parseAuthorization,
  permissionDenied,
  unauthenticated,
} from './credentials.ts';
export {
  addToken,
  type Callers,
  CallersFileError,
  createToken,
  formatToken,
  hashSecret,
  loadCallers,
  type NewToken,
  parseCallers,
  removeToken,
  type TenantLimits,
  type Token,
  type TokenCaller,
} from './callers-file.ts';
export type { JwtRules } from './jwt.ts';
export {
  loadTlsFiles,
  openTlsFiles,
  type OpenTlsFilesOptions,
  TlsFileError,
  type TlsFiles,
  type TlsFileSetting,
  type TlsFilesOptions,
  type WatchedTlsFiles,
} from './tls-files.ts';
export type { HandshakeFailure } from './limit-connections.ts';
