// The real server as a child process, for suites and benchmarks: on free loopback ports; it ends with its parent.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { LOCAL_LISTENERS } from './local-listeners.js';

const BINARY = fileURLToPath(new URL('../apps/server/bin/server.js', import.meta.url));
const LOGGING = ['--log-format', 'json', '--log-level', 'error'];

const children = new Set();
// An empty home: no configuration of the machine reaches the server.
const home = mkdtempSync(join(tmpdir(), 'svc-home-'));
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(home, { recursive: true, force: true });
});
// By default a signal ends this process without it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => process.exit(128 + constants.signals[signal]));
}

/**
 * Starts the server. It inherits standard output unless `stdout` is `pipe`; its errors are shown. It is killed when
 * `signal` is aborted.
 */
export async function startServer(args = [], { env = {}, stdout = 'inherit', signal } = {}) {
  const child = spawn(process.execPath, [BINARY, ...LOCAL_LISTENERS, ...LOGGING, ...args], {
    stdio: ['ignore', stdout, 'pipe'],
    env: { PATH: process.env.PATH, TMPDIR: tmpdir(), HOME: home, ...env },
    signal,
    killSignal: 'SIGKILL',
  });
  children.add(child);
  const exited = once(child, 'exit').finally(() => children.delete(child));
  const ready = new Promise((resolve) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (line.includes('"message":"ready"')) resolve(JSON.parse(line));
      else console.error(line);
    });
  });
  const addresses = await Promise.race([ready, exited]);
  if (addresses.http === undefined) throw new Error('The server ended before it was ready.');
  return {
    url: addresses.http,
    grpc: addresses.grpc,
    pid: child.pid,
    stdout: child.stdout,
    stop: () => {
      child.kill('SIGTERM');
      return exited;
    },
  };
}
