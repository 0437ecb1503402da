import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { connectionEvent, type Connections } from './connections.ts';

/**
 * Ignores the `Upgrade` header, as HTTP allows: `curl --http2` and Java's client send it to request HTTP/2. Without a
 * listener Node answers such requests too, but loses the data after them; so the request is pushed back onto the
 * connection without its `Upgrade` header, and parsed again.
 */
export function ignoreUpgrades(server: Server, connections: Connections): void {
  server.on('upgrade', (request: IncomingMessage, socket: Socket, rest: Buffer) => {
    // Node has removed its listener; without one an error would end the process.
    const onError = (): void => void socket.destroy();
    socket.on('error', onError);
    connections.whenAnswered(socket, () => {
      socket.off('error', onError);
      socket.unshift(Buffer.concat([Buffer.from(headWithoutUpgrade(request), 'latin1'), rest]));
      server.emit(connectionEvent(server), socket);
    });
  });
}

function headWithoutUpgrade({ method, url, httpVersion, rawHeaders }: IncomingMessage): string {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    if (name.toLowerCase() !== 'upgrade') lines.push(`${name}: ${rawHeaders[i + 1]}`);
  }
  return `${lines.join('\r\n')}\r\n\r\n`;
}
