import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { StartTrace } from '@svc/frames';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createHttpCall } from './request-context.ts';

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

describe('the place of a call in a trace', () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const trace = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', isSampled: true };

  test('is that of the client, over a socket and elsewhere', async () => {
    const { incoming, outgoing } = await receiveRequest(`traceparent: ${traceparent}\r\ntracestate: a=1\r\n`);
    expect(createHttpCall('1', { incoming, outgoing }, REQUEST).trace).toEqual({ ...trace, traceState: 'a=1' });
    const request = new Request(REQUEST, { headers: { traceparent } });
    expect(createHttpCall('1', {}, request).trace).toEqual(trace);
    expect(createHttpCall('1', {}, REQUEST).trace).toBeUndefined();
  });

  test('is found on first use, and only once', async () => {
    const startTrace = vi.fn<StartTrace>(() => undefined);
    const call = createHttpCall('1', {}, REQUEST, startTrace);
    expect(startTrace).not.toHaveBeenCalled();
    expect([call.trace, call.trace]).toEqual([undefined, undefined]);
    expect(startTrace).toHaveBeenCalledTimes(1);
  });

  test('is none if the header is repeated', async () => {
    const { incoming, outgoing } = await receiveRequest(`traceparent: ${traceparent}\r\n`.repeat(2));
    expect(createHttpCall('1', { incoming, outgoing }, REQUEST).trace).toBeUndefined();
  });
});

async function receiveRequest(
  headers = '',
): Promise<{ client: Socket; incoming: IncomingMessage; outgoing: ServerResponse }> {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect(port, '127.0.0.1');
  onTestFinished(() => void client.destroy());
  client.write(`GET /exec HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`);
  const [incoming, outgoing] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  return { client, incoming, outgoing };
}
