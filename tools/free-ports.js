import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that the system gives to connections and to listeners on port 0 (from 32768 on Linux, from 49152
 * elsewhere): one of those may be taken before the program that it is for has started.
 */
const FIRST = 10_240;
const LAST = 32_000;

/** Returns free loopback ports, for programs that cannot bind to port 0. */
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
