// The real server as a process of its own, on free ports of the loopback.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const BINARY = fileURLToPath(new URL('../apps/server/bin/server.js', import.meta.url));

/** Starts it. Its standard output is that of this process, unless `stdout` is `pipe`. */
export async function startServer(args = [], env = {}, stdout = 'inherit') {
  const local = ['--http-bind-address', '127.0.0.1:0', '--grpc-host', '127.0.0.1', '--grpc-port', '0'];
  const child = spawn(process.execPath, [BINARY, ...local, '--log-format', 'json', ...args], {
    stdio: ['ignore', stdout, 'pipe'],
    env: { ...process.env, ...env },
  });
  for await (const line of createInterface({ input: child.stderr })) {
    const { message, http, grpc } = JSON.parse(line);
    if (message !== 'ready') continue;
    child.stderr.resume();
    const exited = new Promise((resolve) => child.once('exit', resolve));
    const stop = () => {
      child.kill('SIGTERM');
      return exited;
    };
    return { url: http, grpc, pid: child.pid, stdout: child.stdout, stop };
  }
  throw new Error('The server ended before it was ready.');
}
