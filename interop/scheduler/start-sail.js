// The servers of Sail, in child processes on loopback.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../tools/free-ports.js';
import { isListening, startChild } from './child.js';

const START_TIMEOUT_MS = 60_000;

/** Starts Sail's Spark Connect server with two workers in one process; `programs` is the bin folder of its Python environment. */
export function startSail(programs) {
  return start(programs, 'spark', { SAIL_MODE: 'local-cluster', SAIL_CLUSTER__WORKER_INITIAL_COUNT: '2' });
}

/** Starts Sail's Flight SQL server. */
export function startSailFlight(programs) {
  return start(programs, 'flight', {});
}

async function start(programs, protocol, env) {
  const [port] = await freePorts(1);
  const root = mkdtempSync(join(tmpdir(), 'svc-sail-'));
  const args = [protocol, 'server', '--ip', '127.0.0.1', '--port', String(port)];
  const child = startChild(join(programs, 'sail'), args, { env: { HOME: root, ...env }, log: join(root, 'log') });
  const stop = async () => {
    await child.kill();
    rmSync(root, { recursive: true, force: true });
  };
  try {
    await child.until('The start of Sail', () => isListening(port), START_TIMEOUT_MS);
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, pid: child.pid, kill: child.kill, stop };
}
