import type { X509Certificate } from 'node:crypto';
import { TLSSocket } from 'node:tls';
import { ServiceError } from '@svc/errors';
import type { Caller, Permission } from '@svc/frames';

/** The credentials of a request, as its protocol carries them. */
export interface Credentials {
  /** The value of `Authorization`: a header of HTTP, or metadata of gRPC. Default: there is none. */
  readonly authorization?: string | undefined;
  /** The certificate of the connection. It counts only without `authorization`. Default: there is none. */
  readonly certificate?: ClientCertificate | undefined;
  /** The connection of the request: an object that lives as long as it. Its valid credentials are remembered. Default: none. */
  readonly connection?: object | undefined;
}

/** The certificate of a client on its connection. */
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
 * Returns the secret in a value of `Authorization`: after `Bearer`, or the password of `Basic` with any user. Throws
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

/** The error of a caller without a needed permission. */
export function permissionDenied(permission: Permission): ServiceError {
  return new ServiceError('permission_denied', `The caller lacks the permission ${permission}.`, {
    hint: `Ask the operator for a token with the permission ${permission}.`,
  });
}

const known = new WeakMap<TLSSocket, ClientCertificate | null>();

/** Returns the certificate of the client of a connection; undefined if it has shown none. */
export function clientCertificateOf(socket: unknown): ClientCertificate | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  let certificate = known.get(socket);
  if (certificate === undefined) {
    // Read once for each connection: parsing costs more than a short request.
    certificate = readCertificate(socket) ?? null;
    known.set(socket, certificate);
  }
  return certificate ?? undefined;
}

function readCertificate(socket: TLSSocket): ClientCertificate | undefined {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return undefined;
  const { authorized, authorizationError } = socket;
  return {
    names: namesOf(certificate),
    expiresMs: Date.parse(certificate.validTo),
    ...(!authorized && { problem: String(authorizationError) }),
  };
}

/** Returns the possible subjects of callers in a certificate. */
export function namesOf(certificate: X509Certificate): readonly string[] {
  const names = alternativeNames(certificate.subjectAltName ?? '');
  if (names.length > 0) return names;
  const { subject } = certificate.toLegacyObject();
  // Several common names are a list, and none of them is clearly meant.
  return typeof subject?.CN === 'string' ? [subject.CN] : [];
}

/** Node writes an entry with a separator or a quote as a JSON string. */
const ALTERNATIVE_NAME = /(?:^|, )(\w[\w ]*):("(?:[^"\\]|\\.)*"|[^,"]*)(?=, |$)/gy;

function alternativeNames(text: string): readonly string[] {
  return [...text.matchAll(ALTERNATIVE_NAME)].flatMap(([, kind, value = '']) => {
    const name: unknown = value.startsWith('"') ? JSON.parse(value) : value;
    if (typeof name !== 'string') return [];
    // Only a URI has a colon, so a name of one kind is not taken for the other.
    if (kind === 'URI') return name.includes(':') ? [name] : [];
    return kind === 'DNS' && !name.includes(':') ? [name] : [];
  });
}

/** The form to compare subjects in: the letter case counts for a URI, not for other names. */
export function subjectKey(subject: string): string {
  return subject.includes(':') ? subject : subject.toLowerCase();
}

/** Returns the caller of a certificate. Throws `unauthenticated` if it proves none. */
export function checkCertificate(
  callers: ReadonlyMap<string, Caller>,
  { names, expiresMs, problem }: ClientCertificate,
  nowMs: number,
): Caller {
  if (problem !== undefined) {
    throw unauthenticated(
      `The client certificate is not valid (${problem}).`,
      'Use a certificate of an authority that the server accepts for clients.',
    );
  }
  if (expiresMs <= nowMs) {
    throw unauthenticated(
      `The client certificate expired at ${new Date(expiresMs).toISOString()}.`,
      'Connect again with a new certificate.',
    );
  }
  const found = new Set(names.flatMap((name) => callers.get(subjectKey(name)) ?? []));
  const [caller] = found;
  if (caller !== undefined && found.size === 1) return caller;
  throw unauthenticated(
    caller === undefined
      ? 'The client certificate belongs to no caller.'
      : 'The client certificate has the names of several callers.',
    'Ask the operator to list one name of the certificate as a caller, or send a token.',
  );
}

const TENANT_PATTERN = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** The rule for names of tenants, for error messages. */
export const TENANT_RULE =
  'A tenant has 1 to 63 lower-case letters, digits and dashes, and does not begin with a dash.';

/** True if a text is a valid name of a tenant. */
export function isTenant(text: string): boolean {
  return TENANT_PATTERN.test(text);
}

/** A caller, and when its credentials expire, in ms since 1970. */
export interface Proof {
  readonly caller: Caller;
  readonly untilMs: number;
}

/** Remembers the last valid `Authorization` of each connection: most clients send the same one with every request. */
interface ProvedCallers {
  /**
   * Returns the caller if the connection has proved it with the same value; undefined if the value must be checked.
   * `sources` is what values are checked against: with another object, all of them must be checked again.
   */
  find(connection: object, authorization: string, sources: object, nowMs: number): Caller | undefined;
  add(connection: object, authorization: string, sources: object, proof: Proof): void;
}

interface Entry {
  readonly sources: object;
  readonly authorization: string;
  /** The proof of this value, by its secret: a map, see below. */
  readonly proofs: ReadonlyMap<string, Proof>;
}

/** The secret part of a value: the signature of a JWT, or a whole token. */
const secretOf = (authorization: string): string => authorization.slice(authorization.lastIndexOf('.') + 1);

/**
 * Creates an empty memory. It holds one value for each open connection, and releases it with the connection. Without it,
 * the hash of the credentials would cost several percent of a small response.
 *
 * Several clients share a connection behind a proxy, so the time of a lookup must not say how much of a wrong secret is
 * right. A map compares the hashes of texts first, which depend on a random seed of the process; `===` would compare the
 * texts from their beginning, so it compares the rest of a value only after its secret was found.
 */
export function createProvedCallers(): ProvedCallers {
  const entries = new WeakMap<object, Entry>();
  return {
    find(connection, authorization, sources, nowMs) {
      const entry = entries.get(connection);
      if (entry === undefined) return undefined;
      const proof = entry.proofs.get(secretOf(authorization));
      if (entry.sources !== sources || (proof !== undefined && nowMs >= proof.untilMs)) {
        entries.delete(connection);
        return undefined;
      }
      return proof !== undefined && entry.authorization === authorization ? proof.caller : undefined;
    },
    add(connection, authorization, sources, proof) {
      entries.set(connection, { sources, authorization, proofs: new Map([[secretOf(authorization), proof]]) });
    },
  };
}
