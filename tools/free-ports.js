import { once } from 'node:events';
import { createServer } from 'node:net';

/** Ports of the loopback that nothing listens on, for programs that cannot choose one by themselves. */
export async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
