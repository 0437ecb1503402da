import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { ServiceError } from '@svc/errors';
import { createMemoryStore } from '@svc/frames';
import { createService, type ServiceEvent } from '@svc/service';
import type { TsdbResponse, TsdbProxy } from '@svc/tsdb-proxy';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createExecApp, writeStreamed } from '../index.ts';

type Change = (response: Response, incoming: IncomingMessage) => Response | Promise<Response>;
type Chunks = NonNullable<TsdbResponse['chunks']>;

const same: Change = (response) => response;
const emptyBody: TsdbResponse['body'] = null;

/** Chunks in a reused buffer, like those of a real response. */
function reusedChunks(texts: readonly string[], failure?: Error): Chunks & { ended(): boolean } {
  const memory = Buffer.alloc(16);
  const left = [...texts];
  let isEnded = false;
  return {
    async next() {
      const text = left.shift();
      if (text !== undefined) return { done: false, value: memory.subarray(0, memory.write(text)) };
      if (failure) throw failure;
      return { done: true, value: undefined };
    },
    async return() {
      isEnded = true;
      return { done: true, value: undefined };
    },
    ended: () => isEnded,
  };
}

/** Serves such a response. `change` may replace the app's response before it is written. */
async function serveResponse(answer: Pick<TsdbResponse, 'chunks'>, change = same) {
  const events: ServiceEvent[] = [];
  const written: boolean[] = [];
  const tsdb: TsdbProxy = {
    forward: async () => ({ status: 201, headers: { 'x-of': 'database' }, body: emptyBody, ...answer }),
    close: async () => {},
  };
  const service = createService({ store: createMemoryStore(), tsdb, observe: (event) => events.push(event) });
  const app = createExecApp({ service });
  const listen = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const request = new Request(`http://localhost${incoming.url}`);
    const response = await change(await app.fetch(request, { incoming, outgoing }), incoming);
    const isWritten = writeStreamed(response, outgoing);
    written.push(isWritten);
    if (isWritten) return;
    for await (const bytes of response.body ?? []) outgoing.write(bytes);
    outgoing.end();
  };
  const server = createServer((incoming, outgoing) => void listen(incoming, outgoing)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await service.close();
  });
  const { port } = server.address() as AddressInfo;
  const outcomes = () => events.flatMap((event) => (event.kind === 'request_answered' ? [event.error?.code] : []));
  return { url: `http://127.0.0.1:${port}/exec?query=x&fmt=json`, written, outcomes };
}

describe('writeStreamed', () => {
  test('writes a streamed response unchanged from a reused buffer', async () => {
    const { url, written, outcomes } = await serveResponse({ chunks: reusedChunks(['first ', 'second ', 'third']) });
    const response = await fetch(url);
    expect([response.status, response.headers.get('x-of')]).toEqual([201, 'database']);
    expect(response.headers.get('x-request-id')).toBeTruthy();
    expect(await response.text()).toBe('first second third');
    expect([written, outcomes()]).toEqual([[true], [undefined]]);
  });

  test('ignores a response without a body', async () => {
    const { url, written } = await serveResponse({});
    expect(await (await fetch(url)).text()).toBe('');
    expect(written).toEqual([false]);
  });

  test.each<[string, Change]>([
    ['that was cloned', (response) => (response.clone(), response)],
    ['whose body was replaced', ({ body }) => new Response(body?.pipeThrough(new TransformStream()))],
  ])('ignores a response %s, and its chunks stay valid', async (_name, change) => {
    const { url, written } = await serveResponse({ chunks: reusedChunks(['first ', 'second ', 'third']) }, change);
    expect(await (await fetch(url)).text()).toBe('first second third');
    expect(written).toEqual([false]);
  });

  test('cuts the connection if the response fails', async () => {
    const chunks = reusedChunks(['half'], new ServiceError('tsdb_failed', 'The connection broke.'));
    const { url, outcomes } = await serveResponse({ chunks });
    await expect(fetch(url).then((response) => response.text())).rejects.toThrow();
    expect(outcomes()).toEqual(['tsdb_failed']);
  });

  test.each<[string, Change]>([
    ['written to its connection', same],
    ['sent as a web stream', ({ body }) => new Response(body?.pipeThrough(new TransformStream()))],
  ])(
    'resets the connection of HTTP/1.0, where its end alone would be the end of the answer (%s)',
    async (_name, change) => {
      const chunks = reusedChunks(['half'], new ServiceError('tsdb_failed', 'The connection broke.'));
      let isRead = (): void => {};
      const read = new Promise<void>((resolve) => (isRead = resolve));
      let asked = 0;
      const next: Chunks['next'] = async () => {
        asked += 1;
        if (asked > 1) await read;
        return chunks.next();
      };
      const { url } = await serveResponse({ chunks: { ...chunks, next } }, change);
      const client = connect(Number(new URL(url).port), '127.0.0.1');
      client.write('GET /exec?query=x&fmt=json HTTP/1.0\r\n\r\n');
      let text = '';
      client.on('data', (bytes) => {
        text += bytes.toString();
        if (text.endsWith('half')) isRead();
      });
      await expect(once(client, 'end')).rejects.toMatchObject({ code: 'ECONNRESET' });
      expect(text).not.toContain('transfer-encoding');
    },
  );

  test('stops the producer of a response whose client has disconnected', async () => {
    const chunks = reusedChunks([]);
    const endless = { ...chunks, next: async () => ({ done: chunks.ended(), value: Buffer.alloc(1024 * 1024) }) };
    const { url, outcomes } = await serveResponse({ chunks: endless as Chunks });
    const client = new AbortController();
    const response = await fetch(url, { signal: client.signal });
    await response.body?.getReader().read();
    client.abort();
    await expect.poll(() => [chunks.ended(), outcomes()]).toEqual([true, ['cancelled']]);
  });

  test('stops the producer of a queued response whose connection is gone', async () => {
    const chunks = reusedChunks(['first ', 'second']);
    const { url, written, outcomes } = await serveResponse({ chunks }, async (response, { socket }) => {
      if (!socket.destroyed) await once(socket, 'close');
      return response;
    });
    const { hostname, port, pathname, search } = new URL(url);
    const client = connect(Number(port), hostname);
    await once(client, 'connect');
    client.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`.repeat(2), () => client.destroy());
    await expect
      .poll(() => [written, outcomes()])
      .toEqual([
        [true, true],
        ['cancelled', 'cancelled'],
      ]);
    expect(chunks.ended()).toBe(true);
  });
});
