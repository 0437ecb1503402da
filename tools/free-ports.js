import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports of the system for connections and for listeners on port 0 (from 32768 on Linux, from 49152
 * elsewhere): one of those may be taken before its program has started.
 */
const FIRST = 10_240;
const LAST = 32_000;

/** Returns free loopback ports, for programs without port 0. */
export async function freePorts(count) {
  const ports = new Set();
  while (ports.size < count) {
    const port = randomInt(FIRST, LAST);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

async function isFree(port) {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  await once(server.close(), 'close');
  return true;
}
