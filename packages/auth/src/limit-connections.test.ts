import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type ConnectionLimitOptions, limitConnections, networkOf } from './limit-connections.ts';

interface Client {
  readonly socket: Socket;
  readonly isOpen: () => boolean;
}

/**
 * A server that accepts the byte `p` as a request, and `b` as one that never ends. It sends a byte back for each, and for each
 * connection.
 */
async function startServer(options: Partial<ConnectionLimitOptions> & Pick<ConnectionLimitOptions, 'max'>) {
  let refused = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    setImmediate(() => !socket.destroyed && socket.write('.'));
    socket.on('data', (data) => {
      const connection = find(socket);
      connection?.prove();
      if (connection && data.includes('b')) connection.isBusy = () => true;
      socket.write('.');
    });
  });
  const find = limitConnections(server, { firstRequestMs: 60_000, ...options, onRefused: () => (refused += 1) });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;

  /** Connects, and resolves when the server has accepted or refused the connection, and its request. */
  async function client(request = '', localAddress = '127.0.0.1'): Promise<Client> {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => undefined);
    let isOpen = true;
    const closed = new Promise<void>(
      (resolve) =>
        void socket.once('close', () => {
          isOpen = false;
          resolve();
        }),
    );
    const answered = () => new Promise<void>((resolve) => void socket.once('data', () => resolve()));
    await Promise.race([answered(), closed]);
    if (isOpen && request !== '') {
      socket.write(request);
      await Promise.race([answered(), closed]);
    }
    socket.resume();
    return { socket, isOpen: () => isOpen };
  }
  const clients = (count: number, request = '', from = '127.0.0.1') =>
    Promise.all(Array.from({ length: count }, () => client(request, from)));
  return { client, clients, refused: () => refused };
}

const openOf = (clients: readonly Client[]) => clients.filter(({ isOpen }) => isOpen()).length;

test('connections with a request stay while there are others without', async () => {
  const { client, clients } = await startServer({ max: 10 });
  const proven = await clients(4, 'p');
  for (let i = 0; i < 30; i += 1) await client();
  expect(openOf(proven)).toBe(4);
});

test.each([
  [true, [false, true]],
  [false, [true, false]],
])('if an idle connection of the own network may be closed: %s', async (closesOwnIdle, [isIdleOpen, isLastOpen]) => {
  const { client, clients, refused } = await startServer({ max: 4, closesOwnIdle });
  const busy = await clients(3, 'b');
  const idle = await client('p');
  const last = await client('b');
  await expect.poll(() => [idle.isOpen(), last.isOpen()]).toEqual([isIdleOpen, isLastOpen]);
  expect([openOf(busy), refused()]).toEqual([3, isLastOpen ? 0 : 1]);
});

test('the network with the most new connections makes room', async () => {
  const { clients } = await startServer({ max: 10 });
  const few = await clients(3, '', '127.0.0.2');
  const many = await clients(10, '', '127.0.0.3');
  await expect.poll(() => openOf(many)).toBe(8);
  expect(openOf(few)).toBe(3);
});

test('an idle connection of a larger network makes room', async () => {
  const { client, clients } = await startServer({ max: 10 });
  const many = await clients(10, 'p', '127.0.0.2');
  const few = [await client('p', '127.0.0.3'), await client('p', '127.0.0.3'), await client('p', '127.0.0.3')];
  await expect.poll(() => openOf(many)).toBe(8);
  expect(openOf(few)).toBe(3);
});

test('however busy one network is, there is room for others', async () => {
  const { client, clients, refused } = await startServer({ max: 20 });
  const busy = await clients(20, 'b');
  const more = await clients(1, 'b');
  await expect.poll(() => openOf(more)).toBe(0);
  expect([openOf(busy), refused()]).toEqual([20, 1]);
  expect((await client('b', '127.0.0.2')).isOpen()).toBe(true);
});

test('a client without a request is disconnected after a while, one with a request is not', async () => {
  const { client } = await startServer({ max: 10, firstRequestMs: 2000 });
  const silent = await client();
  const proven = await client('p');
  await expect.poll(silent.isOpen, { timeout: 20_000 }).toBe(false);
  expect(proven.isOpen()).toBe(true);
});

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8::6', '2001:db8:0:0'],
  ['2001:db8:1::', '2001:db8:1:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['::1', '0:0:0:0'],
])('the network of %s is %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
