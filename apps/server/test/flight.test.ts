import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tableFromArrays, tableToIPC } from 'apache-arrow';
import { Status } from 'nice-grpc';
import { expect, onTestFinished, test } from 'vitest';
import { getTicket } from '../../../packages/grpc/test/flight-client.ts';
import { call, connect, pathOf, put, readAll, startFlight, ticketOf } from './flight-client.ts';

const FRAME_BYTES = 8_000_000;

test('a frame that DoPut acknowledged survives kill -9', { tags: ['slow'] }, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-data-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const { client, server } = await startFlight({}, ['--data-dir', directory]);
  await put(client, 'frame', FRAME_BYTES);
  server.child.kill('SIGKILL');
  await server.exited;
  const again = await startFlight({}, ['--data-dir', directory]);
  const ticket = await ticketOf(again.client, pathOf('frame'));
  expect(await readAll(await connect(again.address), ticket)).toBeGreaterThan(FRAME_BYTES);
});

test('a frame of several parts is one table for DoGet, and one Parquet file', { tags: ['slow'] }, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-data-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const { client, server } = await startFlight({}, ['--data-dir', directory]);
  for (const from of [0, 1000, 2000]) {
    const x = Float64Array.from({ length: 1000 }, (_, row) => from + row);
    const body = new Uint8Array(tableToIPC(tableFromArrays({ x }), 'stream'));
    expect((await server.fetch('/frames/frame?fmt=arrow', { method: 'POST', body })).ok).toBe(true);
  }
  expect(filesIn(directory).filter((name) => /frame\/[^/]*\.parquet$/.test(name))).toHaveLength(3);
  const table = await getTicket(client, await ticketOf(client, pathOf('frame')));
  expect(Array.from(table.getChild('x') ?? [])).toEqual(Array.from({ length: 3000 }, (_, row) => row));
  for (const [path, first, last] of [
    ['/files/frame.parquet', 0, 2999],
    ['/exp?handle=frame&fmt=parquet&limit=1000,2001', 999, 2000],
  ] as const) {
    const file = await server.fetch(path);
    const copy = { method: 'PUT', body: await file.arrayBuffer() };
    expect((await server.fetch('/frames/copy?fmt=parquet', copy)).ok).toBe(true);
    const { dataset } = (await (await server.fetch('/exec?handle=copy&fmt=json&limit=5000')).json()) as {
      dataset: unknown;
    };
    expect(dataset).toEqual(Array.from({ length: last - first + 1 }, (_, row) => [first + row]));
  }
});

const NOISE = Buffer.alloc(500, 0xaf);
/** A path that is a number, a header that is a number, and a body that is a number. */
const OTHER_TYPES = Buffer.from([10, 4, 8, 1, 24, 7, 16, 7, 0xc0, 0x3e, 7]);

test.each([
  ['of a gigabyte', 1_000_000_000, NOISE, 'RESOURCE_EXHAUSTED'],
  ['that is cut short', 1000, NOISE, 'INVALID_ARGUMENT'],
  ['of noise', NOISE.length, NOISE, 'INVALID_ARGUMENT'],
  ['whose fields are of other types', OTHER_TYPES.length, OTHER_TYPES, 'INVALID_ARGUMENT'],
] as const)('a message %s is a status, and the server goes on', async (_what, length, message, status) => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-data-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const { client, address } = await startFlight({}, ['--parquet-path', directory]);
  const before = filesIn(directory);
  const stream = call(await connect(address), 'DoPut', length, message);
  const [headers] = await once(stream, 'response');
  expect(headers).toMatchObject({ 'grpc-status': String(Status[status]) });
  const names: (string | undefined)[] = [];
  for await (const { flightDescriptor } of client.listFlights({})) names.push(flightDescriptor?.path[0]);
  expect([names, filesIn(directory)]).toEqual([[], before]);
});

function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).toSorted();
}
