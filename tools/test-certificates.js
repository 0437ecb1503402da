// Certificates for tests and benchmarks. Node reads certificates but cannot create them, and openssl is not everywhere.
import 'reflect-metadata';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';

const DAY_MS = 86_400_000;
const KEYS = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const { subtle } = globalThis.crypto;

/**
 * A certificate and its key, as `tls` takes them.
 *
 * @typedef {{ readonly cert: string, readonly key: string }} Certified
 */

/**
 * What a certificate says, besides its names.
 *
 * @typedef {object} CertificateOptions
 * @property {string} [commonName] Default: the first name.
 * @property {Date} [notBefore] Default: yesterday, or a day before `notAfter` if that is earlier.
 * @property {Date} [notAfter] Default: tomorrow.
 */

/**
 * A certificate authority for one test.
 *
 * @typedef {object} TestAuthority
 * @property {string} cert The certificate of the authority.
 * @property {(names: readonly string[], options?: CertificateOptions) => Promise<Certified>} issue Issues a certificate with
 *   these alternative names: URIs, addresses and host names.
 */

/**
 * Creates an authority.
 *
 * @param {string} [name]
 * @returns {Promise<TestAuthority>}
 */
export async function createTestAuthority(name = 'Test Authority') {
  const keys = await createKeys();
  const issuer = nameOf(name);
  const own = await x509.X509CertificateGenerator.create({
    ...validity({}),
    subject: issuer,
    issuer,
    signingKey: keys.privateKey,
    publicKey: keys.publicKey,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  return {
    cert: `${own.toString('pem')}\n`,
    async issue(names, { commonName = names[0], ...dates } = {}) {
      const leaf = await createKeys();
      const cert = await x509.X509CertificateGenerator.create({
        ...validity(dates),
        subject: nameOf(commonName ?? ''),
        issuer,
        signingKey: keys.privateKey,
        publicKey: leaf.publicKey,
        extensions: names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names.map(generalName))],
      });
      const key = x509.PemConverter.encode(await subtle.exportKey('pkcs8', leaf.privateKey), 'PRIVATE KEY');
      return { cert: `${cert.toString('pem')}\n`, key: `${key}\n` };
    },
  };
}

async function createKeys() {
  return subtle.generateKey(KEYS, true, ['sign', 'verify']);
}

/** @param {string} commonName */
function nameOf(commonName) {
  return new x509.Name([{ CN: [commonName] }]).toString();
}

/** @param {Pick<CertificateOptions, 'notBefore' | 'notAfter'>} dates */
function validity({ notAfter = new Date(Date.now() + DAY_MS), notBefore }) {
  return { notAfter, notBefore: notBefore ?? new Date(Math.min(Date.now(), notAfter.getTime()) - DAY_MS) };
}

/**
 * @param {string} name
 * @returns {{ type: 'url' | 'dns' | 'ip', value: string }}
 */
function generalName(name) {
  if (isIP(name) > 0) return { type: 'ip', value: name };
  return name.includes('://') ? { type: 'url', value: name } : { type: 'dns', value: name };
}
