import { connect, type Socket } from 'node:net';
import {
  FrameServiceDefinition,
  HealthDefinition,
  type Partially,
  type PutFrameRequest,
  reflectionV1,
} from '@svc/proto';
import { tableFromArrays, tableFromIPC, tableToIPC } from 'apache-arrow';
import { type Channel, createChannel, createClient } from 'nice-grpc';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sharedProcess, type ServerProcess, startProcess } from './server-process.ts';

function channelTo(server: ServerProcess): Channel {
  const channel = createChannel(server.grpcAddress);
  onTestFinished(() => channel.close());
  return channel;
}

async function* upload(handle: string, chunk: Uint8Array): AsyncGenerator<Partially<PutFrameRequest>> {
  yield { target: { handle } };
  yield { chunk };
}

describe('one process, two listeners', () => {
  test('a frame put over gRPC is read over HTTP, and the other way round', async () => {
    const server = await sharedProcess();
    const client = createClient(FrameServiceDefinition, channelTo(server));
    const ids = new BigInt64Array([1n, 2n ** 62n]);
    const sent = await client.putFrame(
      upload('over-grpc', tableToIPC(tableFromArrays({ id: ids }), 'stream')) as never,
    );
    expect(sent.frame).toMatchObject({ handle: 'over-grpc', rows: 2n });
    expect(await (await server.fetch('/exec?handle=over-grpc&fmt=json')).text()).toContain(
      `"dataset":[[1],[${2n ** 62n}]]`,
    );

    await server.put('over-http', [{ id: 1 }, { id: 2 }, { id: 3 }]);
    const chunks: Uint8Array[] = [];
    for await (const { chunk } of client.getFrame({ handle: 'over-http', limit: 2n, offset: 1n })) {
      if (chunk) chunks.push(chunk);
    }
    expect(
      tableFromIPC(Buffer.concat(chunks))
        .toArray()
        .map((row) => row.id as bigint),
    ).toEqual([2n, 3n]);
    expect((await client.listFrames({})).frames.map(({ handle }) => handle)).toEqual(['over-grpc', 'over-http']);
    await client.dropFrame({ handle: 'over-grpc' });
    expect((await server.fetch('/frames/over-grpc')).status).toBe(404);
  });

  test('an unknown handle is NOT_FOUND with code and hint', async () => {
    const server = await sharedProcess();
    const client = createClient(FrameServiceDefinition, channelTo(server));
    await expect(client.describeFrame({ handle: 'nope' })).rejects.toMatchObject({
      code: 5,
      details: expect.stringContaining('"nope"'),
    });
  });

  test('health is SERVING and reflection lists the services', async () => {
    const server = await sharedProcess();
    const channel = channelTo(server);
    expect((await createClient(HealthDefinition, channel).check({})).status).toBe(1);
    const reflection = createClient(reflectionV1.ServerReflectionDefinition, channel);
    const request = async function* (): AsyncGenerator<{ listServices: string }> {
      yield { listServices: '' };
    };
    for await (const answer of reflection.serverReflectionInfo(request())) {
      const names = answer.listServicesResponse?.service.map(({ name }) => name);
      expect(names).toContain('svc.frames.v1.FrameService');
    }
    expect.assertions(2);
  });

  test('server.max_connections: one more takes the place of the oldest without a call, and the others go on', async () => {
    const server = await startProcess({ args: ['--max-connections', '2'] });
    const port = Number(new URL(`http://${server.grpcAddress}`).port);
    const open = (): Promise<{ socket: Socket; isRefused: Promise<boolean> }> =>
      new Promise((resolve) => {
        const socket = connect(port, '127.0.0.1', () => {
          // The server greets with its settings, or closes.
          const isRefused = new Promise<boolean>((settle) => {
            socket.once('data', () => settle(false));
            socket.once('close', () => settle(true));
          });
          socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0');
          resolve({ socket, isRefused });
        });
        socket.on('error', () => {});
        onTestFinished(() => void socket.destroy());
      });
    const first = await open();
    const second = await open();
    expect([await first.isRefused, await second.isRefused]).toEqual([false, false]);
    const third = await open();
    expect(await third.isRefused).toBe(false);
    await expect.poll(() => first.socket.destroyed).toBe(true);
    expect(second.socket.destroyed).toBe(false);
  });

  test('a request in HTTP/1.1 is answered with the port for it', async () => {
    const server = await sharedProcess();
    const response = await fetch(`http://${server.grpcAddress}/ping`);
    expect([response.status, await response.text()]).toEqual([
      400,
      `This port speaks gRPC, over HTTP/2. Send HTTP requests to port ${server.port}.\n`,
    ]);
  });

  test('grpc.max_message_bytes refuses a longer message', async () => {
    const server = await startProcess({ toml: '[grpc]\nmax_message_bytes = 1024\n' });
    const client = createClient(FrameServiceDefinition, channelTo(server));
    await expect(client.putFrame(upload('t', new Uint8Array(2000)))).rejects.toMatchObject({ code: 8 });
  });

  test('a call in flight at shutdown is finished', { tags: ['slow'] }, async () => {
    const server = await startProcess();
    await server.put(
      't',
      Array.from({ length: 300_000 }, (_, id) => ({ id, text: 'x'.repeat(20) })),
    );
    const client = createClient(FrameServiceDefinition, channelTo(server));
    let rows = 0n;
    const chunks: Uint8Array[] = [];
    for await (const { frame, chunk } of client.getFrame({ handle: 't' })) {
      if (frame) {
        rows = frame.rows;
        server.child.kill('SIGTERM');
        await server.logged((line) => line.message === 'stopping');
      }
      if (chunk) chunks.push(chunk);
    }
    expect(BigInt(tableFromIPC(Buffer.concat(chunks)).numRows)).toBe(rows);
    expect(await server.exited).toEqual({ code: 0, signal: null });
  });
});
