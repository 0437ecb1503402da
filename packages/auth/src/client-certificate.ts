import type { X509Certificate } from 'node:crypto';
import { TLSSocket } from 'node:tls';
import type { Caller } from '@svc/frames';
import { type ClientCertificate, unauthenticated } from './credentials.ts';

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

/** Returns the names of a certificate that can be the subject of a caller. */
export function namesOf(certificate: X509Certificate): readonly string[] {
  const names = alternativeNames(certificate.subjectAltName ?? '');
  if (names.length > 0) return names;
  const { subject } = certificate.toLegacyObject();
  // Several common names are a list: which one is meant is not clear.
  return typeof subject?.CN === 'string' ? [subject.CN] : [];
}

/** Node writes an entry that contains a separator or a quote as a JSON string. */
const ALTERNATIVE_NAME = /(?:^|, )(\w[\w ]*):("(?:[^"\\]|\\.)*"|[^,"]*)(?=, |$)/gy;

function alternativeNames(text: string): readonly string[] {
  return [...text.matchAll(ALTERNATIVE_NAME)].flatMap(([, kind, value = '']) => {
    const name: unknown = value.startsWith('"') ? JSON.parse(value) : value;
    if (typeof name !== 'string') return [];
    // Only a URI has a colon, so that a name of one kind is not taken for the other.
    if (kind === 'URI') return name.includes(':') ? [name] : [];
    return kind === 'DNS' && !name.includes(':') ? [name] : [];
  });
}

/** The form in which subjects are compared: the letter case of a URI counts, that of other names does not. */
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
