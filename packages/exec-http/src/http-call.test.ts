import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createHttpCall } from './http-call.ts';

const REQUEST = new Request('http://localhost/exec');

describe('the call of a request over a socket', () => {
  test('is cancelled with a code when the client disconnects, whether its signal was used before or after', async () => {
    const { client, incoming, outgoing } = await receiveRequest();
    const call = createHttpCall('1', { incoming, outgoing }, REQUEST);
    const late = createHttpCall('2', { incoming, outgoing }, REQUEST);
    expect([call.isCancelled, call.signal.aborted]).toEqual([false, false]);
    expect(call.signal).toBe(call.signal);
    client.destroy();
    await once(outgoing, 'close');
    for (const one of [call, late]) {
      expect(one).toMatchObject({ isCancelled: true, signal: { aborted: true, reason: { code: 'cancelled' } } });
    }
  });

  test('has the address and the port of the connection', async () => {
    const { client, incoming, outgoing } = await receiveRequest();
    const call = createHttpCall('1', { incoming, outgoing }, REQUEST);
    expect(call.client).toEqual({ address: '127.0.0.1', connection: String(client.localPort) });
  });

  test('is not cancelled by a client that disconnects after the response', async () => {
    const { client, incoming, outgoing } = await receiveRequest();
    const call = createHttpCall('1', { incoming, outgoing }, REQUEST);
    const { signal } = call;
    outgoing.end('ok');
    await once(outgoing, 'finish');
    client.end();
    client.resume();
    await once(incoming.socket, 'close');
    expect([call.isCancelled, signal.aborted]).toEqual([false, false]);
  });
});

test('elsewhere the call is cancelled with the request, with a code', () => {
  const controller = new AbortController();
  const call = createHttpCall('1', {}, new Request('http://localhost/exec', { signal: controller.signal }));
  expect([call.isCancelled, call.signal.aborted]).toEqual([false, false]);
  controller.abort();
  expect(call).toMatchObject({ isCancelled: true, signal: { aborted: true, reason: { code: 'cancelled' } } });
});

async function receiveRequest(): Promise<{ client: Socket; incoming: IncomingMessage; outgoing: ServerResponse }> {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect(port, '127.0.0.1');
  onTestFinished(() => void client.destroy());
  client.write('GET /exec HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const [incoming, outgoing] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  return { client, incoming, outgoing };
}
