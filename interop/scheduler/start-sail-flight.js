// Sail's Flight SQL server in a child process on loopback.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../tools/free-ports.js';
import { isListening, startChild } from './child.js';

const START_TIMEOUT_MS = 60_000;

/** Starts the server; `programs` is the bin folder of its Python environment. */
export async function startSailFlight(programs) {
  const [port] = await freePorts(1);
  const root = mkdtempSync(join(tmpdir(), 'svc-sail-'));
  const args = ['flight', 'server', '--ip', '127.0.0.1', '--port', String(port)];
  const child = startChild(join(programs, 'sail'), args, { env: { HOME: root }, log: join(root, 'log') });
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
  return { port, stop };
}
