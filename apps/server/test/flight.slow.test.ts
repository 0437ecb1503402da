import { once } from 'node:events';
import http2 from 'node:http2';
import { Status } from 'nice-grpc';
import { expect, test } from 'vitest';
import { residentBytes } from '../../../tools/process-resources.js';
import { connect, doGet, pathOf, put, queryOf, readAll, startFlight, ticketOf } from './flight-client.ts';
import type { ServerProcess } from './server-process.ts';

const FRAME_BYTES = 4_000_000;
/** A frame that would fill the memory if the server buffered it for clients that do not read. */
const LARGE_BYTES = 40_000_000;

const ENDLESS = 'SELECT * FROM range(10000000000)';
const { NGHTTP2_CANCEL: CANCEL } = http2.constants;

test(
  '20 of 100 readers that do not read neither slow the others nor fill the memory',
  { timeout: 180_000 },
  async () => {
    const { client, address, server } = await startFlight({
      SERVICE_CACHE_SIZE: '0.1',
      // The slow readers connect long before their first call.
      SERVICE_SERVER_FIRST_REQUEST_TIMEOUT_MS: '600000',
    });
    await put(client, 'frame', FRAME_BYTES);
    await put(client, 'large', LARGE_BYTES);
    const ticket = await ticketOf(client, pathOf('frame'));
    const largeTicket = await ticketOf(client, pathOf('large'));
    const fast = await Promise.all(Array.from({ length: 8 }, () => connect(address)));
    const slow = await Promise.all(Array.from({ length: 20 }, () => connect(address)));
    const readFast = async (): Promise<number> => {
      const startMs = performance.now();
      const sizes = await Promise.all(
        fast.flatMap((session) => Array.from({ length: 10 }, () => readAll(session, ticket))),
      );
      expect(Math.min(...sizes)).toBeGreaterThan(FRAME_BYTES);
      return performance.now() - startMs;
    };
    await readFast();
    await readAll(fast[0] ?? (await connect(address)), largeTicket);
    const before = residentBytes(server.child.pid);
    const ratios: number[] = [];
    // Interleaved: the load of a machine changes from one minute to the next.
    for (let i = 0; i < 4; i++) {
      const alone = await readFast();
      const stuck = slow.map((session) => doGet(session, largeTicket).pause());
      await Promise.all(stuck.map((stream) => once(stream, 'response')));
      ratios.push((await readFast()) / alone);
      expect(residentBytes(server.child.pid) - before).toBeLessThan(256 * 1024 * 1024);
      await Promise.all(stuck.map((stream) => (stream.close(CANCEL), once(stream, 'close'))));
    }
    expect(Math.min(...ratios)).toBeLessThan(2);
  },
);

test('a client that vanishes frees its query within a second', async () => {
  const { client, address, server } = await startFlight({ SERVICE_SQL_MAX_CONCURRENT: '1' });
  await expectFreeEngine(server, async () => {
    const session = await connect(address);
    const stream = doGet(session, await ticketOf(client, queryOf(ENDLESS)));
    await once(stream, 'data');
    session.destroy();
  });
});

test('a deadline that passes frees its query within a second', async () => {
  const { client, address, server } = await startFlight({ SERVICE_SQL_MAX_CONCURRENT: '1' });
  await expectFreeEngine(server, async () => {
    const ticket = await ticketOf(client, queryOf(ENDLESS));
    const stream = doGet(await connect(address), ticket, { 'grpc-timeout': '500m' }).resume();
    const [trailers] = await once(stream, 'trailers');
    expect(trailers).toMatchObject({ 'grpc-status': String(Status.DEADLINE_EXCEEDED) });
  });
});

/** Checks that the only engine of the server answers another query within a second; returns the duration. */
async function expectFreeEngine(server: ServerProcess, act: () => Promise<void>): Promise<void> {
  const timesMs: number[] = [];
  // A busy machine spoils one measurement.
  for (let i = 0; i < 3; i++) {
    await act();
    const startMs = performance.now();
    const response = await server.fetch('/exec?query=SELECT+1&engine=local&fmt=json');
    expect(response.status).toBe(200);
    timesMs.push(performance.now() - startMs);
  }
  expect(Math.min(...timesMs)).toBeLessThan(1500);
}
