// A real S3 server on loopback, with a directory that is removed when it ends.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../tools/free-ports.js';

const VERSION = 'v1.8.0';
const FOLDER = fileURLToPath(new URL(`../../node_modules/.cache/versitygw-${VERSION}/`, import.meta.url));
const START_TIMEOUT_MS = 60_000;

/** The keys of the only account. */
export const ACCOUNT = { accessKeyId: 'svctest', secretAccessKey: 'svctestsecret' };

function provideProgram() {
  const program = join(FOLDER, 'versitygw');
  if (existsSync(program)) return program;
  console.error('Building versitygw; this happens once.');
  // Go has its caches in the home directory, even if the environment does not name one.
  const env = { HOME: homedir(), ...process.env, GOBIN: FOLDER };
  const { status, error } = spawnSync('go', ['install', `github.com/versity/versitygw/cmd/versitygw@${VERSION}`], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (error?.code === 'ENOENT') throw new Error('Go 1.25 or newer is needed, and there is no go on the path.');
  if (status !== 0) throw new Error('versitygw could not be built.');
  return program;
}

/**
 * Starts a server with the buckets, and waits until it answers. With a certificate, over TLS.
 *
 * @param {{ readonly buckets: readonly string[], readonly tls?: { readonly cert: string, readonly key: string } }} options
 */
export async function startVersitygw({ buckets, tls }) {
  const program = provideProgram();
  const [port] = await freePorts(1);
  const root = mkdtempSync(join(tmpdir(), 'svc-versitygw-'));
  const [data, sidecar] = [join(root, 'data'), join(root, 'sidecar')];
  for (const bucket of buckets) mkdirSync(join(data, bucket), { recursive: true });
  mkdirSync(sidecar);
  const options = ['--access', ACCOUNT.accessKeyId, '--secret', ACCOUNT.secretAccessKey, '--port', `127.0.0.1:${port}`];
  if (tls !== undefined) {
    writeFileSync(join(root, 'cert.pem'), tls.cert);
    writeFileSync(join(root, 'key.pem'), tls.key, { mode: 0o600 });
    options.push('--cert', join(root, 'cert.pem'), '--key', join(root, 'key.pem'));
  }
  // The sidecar holds the attributes of objects: not every file system has extended ones.
  const child = spawn(program, [...options, '--quiet', 'posix', '--sidecar', sidecar, data], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const closed = once(child, 'close');
  const endpoint = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
  const stop = async () => {
    child.kill('SIGKILL');
    await closed;
    rmSync(root, { recursive: true, force: true });
  };
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!(await answers(port))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop();
      throw new Error('versitygw did not start.');
    }
    await delay(50);
  }
  return { endpoint, stop };
}

async function answers(port) {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
