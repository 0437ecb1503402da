import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Status } from 'nice-grpc';
import { expect, onTestFinished, test } from 'vitest';
import { call, connect, pathOf, put, readAll, startFlight, ticketOf } from './flight-client.ts';

const FRAME_BYTES = 8_000_000;

test('a frame that DoPut acknowledged survives kill -9', async () => {
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
