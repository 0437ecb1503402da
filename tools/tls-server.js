// A server with TLS, tokens and client certificates, for suites and benchmarks.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startServer } from './server-process.js';
import { createTestAuthority } from './test-certificates.js';

const SVC = fileURLToPath(new URL('../apps/cli/bin/svc.js', import.meta.url));

/**
 * Starts a server with TLS. Certificates, keys and the token for its clients are files in `folder`: ca.pem, cert.pem and
 * key.pem (a reader and writer of the tenant alpha), token (likewise). They go when this process ends.
 */
export async function startTlsServer(args = [], { env = {} } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-tls-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const write = (name, text) => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const authority = await createTestAuthority();
  const own = await authority.issue(['localhost', '127.0.0.1']);
  const client = await authority.issue(['spiffe://example.com/client']);
  write('cert.pem', client.cert);
  write('key.pem', client.key);
  const callers = write(
    'callers.toml',
    '[[certificate]]\nsubject = "spiffe://example.com/client"\ntenant = "alpha"\npermissions = ["read", "write"]\n',
  );
  const created = ['token', 'create', '--file', callers, '--tenant', 'alpha', '--permissions', 'read,write'];
  const token = execFileSync(process.execPath, [SVC, ...created], { encoding: 'utf8' }).trim();
  write('token', token);
  const server = await startServer(args, {
    env: {
      SERVICE_TLS_CERT_FILE: write('own.pem', own.cert),
      SERVICE_TLS_KEY_FILE: write('own-key.pem', own.key),
      SERVICE_TLS_CLIENT_CA_FILE: write('ca.pem', authority.cert),
      SERVICE_AUTH_CALLERS_FILE: callers,
      ...env,
    },
  });
  return { ...server, folder, token };
}
