import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { isIP } from 'node:net';

/** A certificate and its key, as `tls` takes them. */
export interface Certified {
  readonly cert: string;
  readonly key: string;
}

/** A certificate authority for one test. */
export interface TestAuthority {
  /** The certificate of the authority. */
  readonly cert: string;
  /** Issues a certificate for these host names and addresses, valid until `notAfter` (default: tomorrow). */
  issue(hosts: readonly string[], notAfter?: Date): Certified;
}

const DAY_MS = 86_400_000;
const OID = {
  ecdsaWithSha256: Buffer.from('06082a8648ce3d040302', 'hex'),
  commonName: Buffer.from('0603550403', 'hex'),
  basicConstraints: Buffer.from('0603551d13', 'hex'),
  subjectAltName: Buffer.from('0603551d11', 'hex'),
};
const SIGNATURE = sequence(OID.ecdsaWithSha256);

/** Creates an authority. Node can read certificates but not create them; encoding DER here avoids a need for openssl. */
export function createTestAuthority(name = 'Test Authority'): TestAuthority {
  const own = createKeys();
  const isAuthority = extension(OID.basicConstraints, sequence(der(0x01, Buffer.from([0xff]))));
  const tomorrow = new Date(Date.now() + DAY_MS);
  return {
    cert: createCertificate({
      issuer: name,
      signer: own.key,
      subject: name,
      ...own,
      extensions: isAuthority,
      notAfter: tomorrow,
    }),
    issue(hosts, notAfter = tomorrow) {
      const keys = createKeys();
      const extensions = extension(OID.subjectAltName, sequence(...hosts.map(generalName)));
      const cert = createCertificate({
        issuer: name,
        signer: own.key,
        subject: 'Test Database',
        ...keys,
        extensions,
        notAfter,
      });
      return { cert, key: keys.key };
    },
  };
}

interface Keys {
  readonly spki: Buffer;
  readonly key: string;
}

function createKeys(): Keys {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    spki: publicKey.export({ type: 'spki', format: 'der' }),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

interface CertificateParts extends Keys {
  readonly issuer: string;
  /** The key of the issuer, as PEM. */
  readonly signer: string;
  readonly subject: string;
  readonly extensions: Buffer;
  readonly notAfter: Date;
}

function createCertificate({ issuer, signer, subject, spki, extensions, notAfter }: CertificateParts): string {
  const serial = Buffer.from([1, ...Buffer.from(String(process.hrtime.bigint()))]);
  const notBefore = new Date(Math.min(Date.now(), notAfter.getTime()) - DAY_MS);
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    SIGNATURE,
    distinguishedName(issuer),
    sequence(time(notBefore), time(notAfter)),
    distinguishedName(subject),
    spki,
    der(0xa3, sequence(extensions)),
  );
  const signerKey: KeyObject = createPrivateKey(signer);
  const signed = sequence(body, SIGNATURE, der(0x03, Buffer.from([0]), sign('sha256', body, signerKey)));
  const lines = signed.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

function der(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const length = content.length < 128 ? [content.length] : [0x82, content.length >> 8, content.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

function sequence(...contents: readonly Buffer[]): Buffer {
  return der(0x30, ...contents);
}

function extension(oid: Buffer, value: Buffer): Buffer {
  return sequence(oid, der(0x04, value));
}

function distinguishedName(name: string): Buffer {
  return sequence(der(0x31, sequence(OID.commonName, der(0x0c, Buffer.from(name)))));
}

/** `240102030405Z` */
function time(date: Date): Buffer {
  return der(
    0x17,
    Buffer.from(
      `${date
        .toISOString()
        .replaceAll(/[-:T]|\..*$/g, '')
        .slice(2)}Z`,
    ),
  );
}

function generalName(host: string): Buffer {
  if (isIP(host) === 0) return der(0x82, Buffer.from(host));
  if (isIP(host) === 4) return der(0x87, Buffer.from(host.split('.').map(Number)));
  if (host !== '::1') throw new Error(`the only supported IPv6 address is ::1, not ${host}`);
  return der(0x87, Buffer.from([...Array<number>(15).fill(0), 1]));
}
