import { ServiceError } from '@svc/errors';
import type { Permission } from '@svc/frames';

/** The credentials of a request, as its protocol carries them. */
export interface Credentials {
  /** The value of `Authorization`: a header of HTTP, or metadata of gRPC. Default: there is none. */
  readonly authorization?: string | undefined;
  /** The certificate of the connection, which counts only without `authorization`. Default: there is none. */
  readonly certificate?: ClientCertificate | undefined;
  /** The connection of the request: an object that lives as long as it. Its valid credentials are remembered. Default: none. */
  readonly connection?: object | undefined;
}

/** The certificate that a client has shown on its connection. */
export interface ClientCertificate {
  /** Its alternative names, URIs and DNS names; if it has none, the common name of its subject. */
  readonly names: readonly string[];
  /** When it expires, in ms since 1970. A connection may stay open longer. */
  readonly expiresMs: number;
  /** Why no authority vouches for it, as a code of OpenSSL. Undefined if one does. */
  readonly problem?: string | undefined;
}

const BEARER = 'Bearer ';

/** Longer credentials are refused unread. */
const MAX_AUTHORIZATION_LENGTH = 16 * 1024;

/**
 * Returns the secret in a value of `Authorization`: that of `Bearer`, or the password of `Basic` with any user. Throws
 * `unauthenticated` if there is none.
 */
export function parseAuthorization(authorization: string | undefined): string {
  if (authorization === undefined) throw unauthenticated('The request has no credentials.');
  if (authorization.length > MAX_AUTHORIZATION_LENGTH) throw unauthenticated('The credentials are too long.');
  // Without a regular expression, for most requests.
  if (authorization.startsWith(BEARER) && !authorization.includes(' ', BEARER.length)) {
    const secret = authorization.slice(BEARER.length).trimEnd();
    if (secret !== '') return secret;
  }
  const [, scheme = '', value = ''] = /^([A-Za-z]+) +(\S+)\s*$/.exec(authorization) ?? [];
  if (scheme.toLowerCase() === 'bearer') return value;
  if (scheme.toLowerCase() !== 'basic') throw unauthenticated('The credentials are neither Bearer nor Basic.');
  const [, password] = /^[^:]*:(.*)$/s.exec(Buffer.from(value, 'base64').toString()) ?? [];
  if (password === undefined) throw unauthenticated('The Basic credentials have no password.');
  return password;
}

/** The error of a request without valid credentials. The message must not contain any part of them. */
export function unauthenticated(message: string, hint?: string): ServiceError {
  return new ServiceError('unauthenticated', message, hint === undefined ? {} : { hint });
}

/** The error of a caller without a permission that it needs. */
export function permissionDenied(permission: Permission): ServiceError {
  return new ServiceError('permission_denied', `The caller lacks the permission ${permission}.`, {
    hint: `Ask the operator for a token with the permission ${permission}.`,
  });
}
