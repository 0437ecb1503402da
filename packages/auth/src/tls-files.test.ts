import { chmod, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { generateKeyPairSync } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createTestAuthority } from '../../../tools/test-certificates.js';
import type { AuthEvent } from './watch-files.ts';
import { loadTlsFiles, openTlsFiles, TlsFileError } from './tls-files.ts';

const DAY_MS = 86_400_000;
const authority = await createTestAuthority();
const right = await authority.issue(['localhost']);
const other = await authority.issue(['other.example']);
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const encrypted = privateKey
  .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
  .toString();
const weak = generateKeyPairSync('rsa', { modulusLength: 512 }).privateKey.export({ type: 'pkcs8', format: 'pem' });
const expired = await authority.issue(['localhost'], { notAfter: new Date(Date.now() - DAY_MS) });
const early = await authority.issue(['localhost'], { notBefore: new Date(Date.now() + DAY_MS / 2) });

interface Contents {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string;
}

async function writeFiles({ cert, key, ca }: Contents) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-tls-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const paths = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
  await writeFile(paths.certFile, cert);
  await writeFile(paths.keyFile, key);
  if (ca === undefined) return paths;
  const clientCaFile = join(folder, 'ca.pem');
  await writeFile(clientCaFile, ca);
  return { ...paths, clientCaFile };
}

test('a certificate, its chain, its key and the authorities of clients are read', async () => {
  const paths = await writeFiles({
    cert: right.cert + authority.cert,
    key: right.key,
    ca: `# ours\n${authority.cert}`,
  });
  const { context, expires } = await loadTlsFiles({ ...paths, minVersion: '1.3' });
  expect(context).toMatchObject({ key: right.key, minVersion: 'TLSv1.3' });
  expect(expires.getTime() - Date.now()).toBeGreaterThan(DAY_MS / 2);
});

test.each([
  ['a certificate that has expired', { ...expired }, 'cert_file', 'The certificate expired at 2'],
  ['a certificate of tomorrow', { ...early }, 'cert_file', 'The certificate is not valid before 2'],
  ['no certificate', { cert: 'hello', key: right.key }, 'cert_file', 'It does not contain a PEM certificate.'],
  ['half a certificate', { cert: right.cert.slice(0, 300), key: right.key }, 'cert_file', 'It does not contain'],
  [
    'a damaged chain',
    { cert: right.cert + authority.cert.replace('MII', 'AAA'), key: right.key },
    'cert_file',
    'It has a damaged certificate.',
  ],
  ['the key of another', { cert: right.cert, key: other.key }, 'key_file', 'It is not the key of the certificate in'],
  ['no key', { cert: right.cert, key: right.cert }, 'key_file', 'It does not contain a PEM private key.'],
  ['an encrypted key', { cert: right.cert, key: encrypted }, 'key_file', 'The key is encrypted with a passphrase.'],
  ['no authority', { ...right, ca: weak.toString() }, 'client_ca_file', 'It does not contain a PEM certificate.'],
] as const)('%s is an error that names the setting', async (_what, contents, setting, reason) => {
  const error: unknown = await loadTlsFiles(await writeFiles(contents)).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(TlsFileError);
  expect(error).toMatchObject({ setting, message: expect.stringContaining(`cannot be used. ${reason}`) });
  const { message } = error as Error;
  for (const line of contents.key.split('\n').slice(1, 3)) expect(message).not.toContain(line);
});

test.each([
  ['is missing', (path: string) => rm(path), 'There is no such file.'],
  ['is too large', (path: string) => writeFile(path, '#'.repeat(2 ** 20 + 1)), 'It is larger than 1048576 bytes.'],
])('a key file that %s is an error', async (_what, damage, reason) => {
  const paths = await writeFiles(right);
  await damage(paths.keyFile);
  await expect(loadTlsFiles(paths)).rejects.toThrow(`The key file "${paths.keyFile}" cannot be used. ${reason}`);
});

test.runIf(process.getuid?.() !== 0)('a key file that may not be read is an error', async () => {
  const paths = await writeFiles(right);
  await chmod(paths.keyFile, 0);
  await expect(loadTlsFiles(paths)).rejects.toThrow('Permission to read it is denied.');
});

async function replace(path: string, content: string): Promise<void> {
  await writeFile(`${path}.new`, content);
  await rename(`${path}.new`, path);
}

test('a changed pair is used, one that does not fit is refused until it does', async () => {
  const paths = await writeFiles(right);
  const events: AuthEvent[] = [];
  const seen: unknown[] = [];
  const files = await openTlsFiles({ ...paths, onEvent: (event) => events.push(event), pollMs: 10 });
  onTestFinished(() => files.close());
  files.onChange(({ context }) => seen.push(context.cert));
  await replace(paths.certFile, other.cert);
  await expect.poll(() => events).toMatchObject([{ kind: 'certificate_refused' }]);
  expect([files.current.context.cert, files.isStale]).toEqual([right.cert, true]);
  await replace(paths.keyFile, other.key);
  await expect.poll(() => events.at(-1)).toMatchObject({ kind: 'certificate_loaded', path: paths.certFile });
  expect([files.current.context.cert, files.isStale]).toEqual([other.cert, false]);
  expect(seen).toEqual([other.cert]);
});
