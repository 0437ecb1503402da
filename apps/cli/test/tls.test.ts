import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestAuthority } from '../../../tools/test-certificates.js';
import { run } from './run.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-tls-'));
const authority = await createTestAuthority();
const own = await authority.issue(['127.0.0.1']);
const reader = await authority.issue(['reader']);
const other = await authority.issue(['other']);

function file(name: string, text: string, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

const ca = file('ca.pem', authority.cert);
const cert = file('cert.pem', reader.cert);
const key = file('key.pem', reader.key);
const otherKey = file('other-key.pem', other.key);
const text = file('text.pem', 'hello');

const listed: string[] = [];

/** Lists no frames, under the name in the certificate of the client; closes the connection if there is none. */
const server = createServer(
  { ...own, ca: authority.cert, requestCert: true, rejectUnauthorized: false },
  (req, res) => {
    const names = (req.socket as TLSSocket).getPeerX509Certificate()?.subjectAltName;
    if (names === undefined) return void req.socket.destroy();
    listed.push(names);
    res.setHeader('content-type', 'application/json');
    return res.end(JSON.stringify({ status: names, version: '1', frames: [] }));
  },
);
let url = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
  rmSync(folder, { recursive: true });
});

describe('svc over TLS', () => {
  test('trusts the authority of --ca-file and shows the certificate of --cert', async () => {
    expect(await run(['list', '--url', url, '--ca-file', ca, '--cert', cert, '--key', key])).toMatchObject({ code: 0 });
  });

  test('completes handles with the files that the line names', async () => {
    const before = listed.length;
    await run(['__complete', 'get', '--url', url, '--ca-file', ca, '--cert', cert, '--key', key, '']);
    expect(listed.slice(before)).toEqual(['DNS:reader']);
  });

  test('without --ca-file does not trust a private authority, and the hint names the flag', async () => {
    const { code, stderr } = await run(['list', '--url', url]);
    expect(code).toBe(3);
    expect(stderr).toContain('is not trusted: its certificate authority is not trusted here.');
    expect(stderr).toContain('with --ca-file');
  });

  test('without --cert, a server that requires one closes the connection, and the hint names the flags', async () => {
    const { code, stderr } = await run(['list', '--url', url, '--ca-file', ca]);
    expect(code).toBe(3);
    expect(stderr).toContain('It may require a client certificate that it trusts: see --cert and --key.');
  });

  test.each([
    ['--cert without --key', ['--cert', cert], '--cert and --key belong together.'],
    ['--key without --cert', ['--key', key], '--cert and --key belong together.'],
    [
      'a missing file',
      ['--ca-file', '/nowhere/ca.pem'],
      'The file "/nowhere/ca.pem" of --ca-file cannot be read: there is no such file.',
    ],
    ['no authority', ['--ca-file', text], 'The file of --ca-file does not contain a PEM certificate.'],
    [
      'the key of another',
      ['--cert', cert, '--key', otherKey],
      'The files of --cert and --key cannot be used (ERR_OSSL_',
    ],
    ['no certificate', ['--cert', text, '--key', key], 'The files of --cert and --key cannot be used (ERR_OSSL_'],
  ])('%s is an error of usage', async (_what, flags, message) => {
    expect(await run(['list', '--url', url, ...flags])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(message),
    });
  });

  test('with an http URL, --ca-file is an error of usage', async () => {
    const { code, stderr } = await run(['list', '--ca-file', ca]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('--ca-file has no effect: the server http://127.0.0.1:9000'),
    ]);
    expect(stderr).toContain('--url https://127.0.0.1:9000');
  });
});

test('svc doctor recognises the server on its ports by the certificate', async () => {
  const at = url.replace('https://', '');
  const env = {
    SERVICE_TLS_CERT_FILE: file('own.pem', own.cert),
    SERVICE_TLS_KEY_FILE: file('own-key.pem', own.key),
    SERVICE_HTTP_BIND_ADDRESS: at,
    SERVICE_GRPC_HOST: '127.0.0.1',
    SERVICE_GRPC_PORT: '0',
  };
  const { stdout } = await run(['doctor'], { env });
  expect(stdout).toContain(`The HTTP address ${at} is held by a running server with the certificate of tls.cert_file.`);
  const files = { SERVICE_TLS_CERT_FILE: cert, SERVICE_TLS_KEY_FILE: key };
  expect((await run(['doctor'], { env: { ...env, ...files } })).stdout).toContain('is held by another program.');
});

describe('svc doctor checks the certificate', () => {
  const YEAR_MS = 365 * 86_400_000;
  const env = (certFile: string, keyFile: string) => ({
    SERVICE_TLS_CERT_FILE: certFile,
    SERVICE_TLS_KEY_FILE: keyFile,
    SERVICE_HTTP_BIND_ADDRESS: '127.0.0.1:0',
    SERVICE_GRPC_HOST: '127.0.0.1',
    SERVICE_GRPC_PORT: '0',
  });
  const lineOf = async (certFile: string, keyFile: string, words: string): Promise<string | undefined> =>
    (await run(['doctor'], { env: env(certFile, keyFile) })).stdout.split('\n').find((line) => line.includes(words));

  test.each([
    ['of another key', () => [cert, otherKey], 'key file', 'problem  The key file "'],
    ['that is missing', () => ['/nowhere.pem', key], 'certificate file', 'problem  The certificate file "'],
    [
      'that expires tomorrow',
      () => [cert, key],
      'valid until',
      'warning  The certificate of the server is valid until',
    ],
    [
      'with an open key',
      () => [cert, file('open.pem', reader.key, 0o644)],
      'Other users',
      'warning  Other users can read',
    ],
  ])('%s', async (_what, files, words, expected) => {
    const [certFile = '', keyFile = ''] = files();
    expect(await lineOf(certFile, keyFile, words)).toMatch(expected);
  });

  test('that is valid for a year', async () => {
    const long = await authority.issue(['x'], { notAfter: new Date(Date.now() + YEAR_MS) });
    const line = await lineOf(file('long.pem', long.cert), file('long-key.pem', long.key), 'valid until');
    expect(line).toMatch(/^ok {7}The certificate of the server is valid until 20/);
  });
});
