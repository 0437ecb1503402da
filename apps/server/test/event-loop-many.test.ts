// What a server with many frames does for one request.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { flight, flightSql, FrameServiceDefinition, packFlightSql } from '@svc/proto';
import { createChannel, createClient } from 'nice-grpc';
import { beforeAll, describe, expect, test } from 'vitest';
import { SLOW } from '../../../test/tier.ts';
import { copyFrame } from './copy-frame.ts';
import { queryOf } from './flight-client.ts';
import { CAN_MEASURE, MAX_BLOCK_MS, type MeasuredServer, startMeasured } from './measured-server.ts';
import { startProcess } from './server-process.ts';

const FRAMES = 20_000;
/** Handles that are compared with an unknown one, which takes as long as the product of their lengths. */
const LONG = 300;
const longHandleOf = (i: number): string => `${'a'.repeat(115)}${String(i).padStart(5, '0')}`;
const handleOf = (i: number): string => `t${String(i).padStart(5, '0')}`;

interface Tools {
  readonly server: MeasuredServer;
  readonly flights: ReturnType<typeof createClient<typeof flight.FlightServiceDefinition>>;
  readonly frames: ReturnType<typeof createClient<typeof FrameServiceDefinition>>;
}

async function drained(messages: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of messages);
}

/** Reads the rows of a Flight SQL command. */
async function rows({ flights }: Tools, descriptor: flight.FlightDescriptor): Promise<void> {
  const { endpoint } = await flights.getFlightInfo(descriptor);
  await drained(flights.doGet({ ticket: endpoint[0]?.ticket?.ticket ?? new Uint8Array(0) }));
}

const command = (name: string, value: Uint8Array): flight.FlightDescriptor =>
  flight.FlightDescriptor.fromPartial({
    type: flight.FlightDescriptorDescriptorType.CMD,
    cmd: packFlightSql(name, value),
  });

const tables = (parts: Partial<flightSql.CommandGetTables>): flight.FlightDescriptor =>
  command(
    'CommandGetTables',
    flightSql.CommandGetTables.encode(flightSql.CommandGetTables.fromPartial(parts)).finish(),
  );

const http =
  (path: string, status = 200) =>
  async ({ server }: Tools) => {
    const response = await server.fetch(path);
    await response.arrayBuffer();
    expect(response.status).toBe(status);
  };

const sql = (text: string) => http(`/exec?engine=local&fmt=json&query=${encodeURIComponent(text)}`);

const CALLS: Readonly<Record<string, (tools: Tools) => Promise<void>>> = {
  'GET /frames': http('/frames'),
  'GET /frames, one page': http('/frames?limit=100'),
  'GET /info': http('/info'),
  'GET /openapi.json': http('/openapi.json'),
  'GET /queries': http('/queries'),
  'GET /health': http('/health'),
  'SQL over one frame': sql('select * from t00001'),
  'SQL that names no frame': sql('select 1'),
  'show tables': sql('show tables'),
  'an unknown name': http('/exec?engine=local&fmt=json&query=select+*+from+t0000', 400),
  'an unknown handle': http('/exec?handle=t0000&fmt=json', 404),
  'an unknown handle of 100 characters': http(`/exec?handle=${'b'.repeat(100)}&fmt=json`, 404),
  ListFlights: ({ flights }) => drained(flights.listFlights({})),
  ListFrames: async ({ frames }) => {
    await frames.listFrames({});
  },
  GetTables: (tools) => rows(tools, tables({})),
  'GetTables with 10,000 schemas': (tools) =>
    rows(tools, tables({ includeSchema: true, tableNameFilterPattern: 't0%' })),
  'GetTables by a pattern': (tools) => rows(tools, tables({ tableNameFilterPattern: '%1%1%1%' })),
  'a statement over one frame': (tools) => rows(tools, queryOf('select * from t00001')),
};

describe.runIf(CAN_MEASURE)(`with ${FRAMES} frames, the event loop is kept for at most ${MAX_BLOCK_MS} ms by`, () => {
  let tools: Tools;
  beforeAll(async () => {
    const ends: (() => Promise<void>)[] = [];
    const onEnd = (end: () => Promise<void>): void => void ends.push(end);
    const folder = await mkdtemp(join(tmpdir(), 'svc-many-'));
    const args = ['--parquet-path', folder];
    const first = await startProcess({ args, onEnd });
    await first.put(handleOf(0), [{ a: 1, b: 'x', c: 2.5 }]);
    first.child.kill('SIGTERM');
    await first.exited;
    const copy = (to: string) => copyFrame(join(folder, 'default'), handleOf(0), to);
    for (let i = 1; i < FRAMES; i += 1) await copy(handleOf(i));
    for (let i = 0; i < LONG; i += 1) await copy(longHandleOf(i));
    const server = await startMeasured({ args, onEnd });
    const channel = createChannel(server.grpcAddress);
    tools = {
      server,
      flights: createClient(flight.FlightServiceDefinition, channel),
      frames: createClient(FrameServiceDefinition, channel),
    };
    return async () => {
      channel.close();
      for (const end of ends) await end();
      await rm(folder, { recursive: true });
    };
  }, 120_000);

  test('GET /metrics', async () => {
    expect(await tools.server.longestBlock(() => http('/metrics')(tools))).toBeLessThanOrEqual(MAX_BLOCK_MS);
  });

  test.each(Object.entries(CALLS))('%s', { ...SLOW, timeout: 180_000 }, async (_, run) => {
    expect(await tools.server.longestBlock(() => run(tools))).toBeLessThanOrEqual(MAX_BLOCK_MS);
  });
});
