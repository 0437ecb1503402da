import { encodeArrowStream, streamFromTable } from '@svc/frames';
import { flight } from '@svc/proto';
import { Dictionary, Int32, Table, Utf8, vectorFromArray } from 'apache-arrow';
import { createChannel, createClient } from 'nice-grpc';
import { beforeAll, describe, expect, test } from 'vitest';
import { SLOW } from '../../../test/tier.ts';
import { pathOf, queryOf, ticketOf } from './flight-client.ts';
import { CAN_MEASURE, MAX_BLOCK_MS, type MeasuredServer, startMeasured } from './measured-server.ts';

const MB = 1_000_000;

const nested = (depth: number, value: string): string => (depth === 0 ? value : `{'a': ${nested(depth - 1, value)}}`);

/** SQL whose result has long rows. */
const RESULTS: Readonly<Record<string, string>> = {
  'a text of 30 MB': `select repeat('x', ${30 * MB}) as a`,
  '15 million control characters': `select repeat(chr(1), ${15 * MB}) as a`,
  '20 million quotes': `select repeat('"', ${20 * MB}) as a`,
  'a line break after 30 MB': `select repeat('x', ${30 * MB}) || chr(10) as a`,
  '7.5 million characters of 4 bytes': `select repeat('😀', ${7.5 * MB}) as a`,
  '20 MB of bytes': `select repeat('x', ${20 * MB})::blob as a`,
  'a list of 3 million integers': `select range(${3 * MB}) as a`,
  'a list of a million texts': `select list_transform(range(${MB}), x -> 't' || x) as a`,
  'a list of 300,000 lists': `select list_transform(range(300000), x -> [x, x]) as a`,
  'a list of a million doubles': `select list_transform(range(${MB}), x -> x / 7) as a`,
  'a list of 500,000 decimals': `select list_transform(range(500000), x -> x::decimal(38, 2)) as a`,
  'a list of 500,000 128-bit integers': `select list_transform(range(500000), x -> x::hugeint * 1000000007) as a`,
  'a map of 500,000 entries': 'select map(range(500000), range(500000)) as a',
  'a struct 30 deep with a text of 20 MB': `select ${nested(30, `repeat('x', ${20 * MB})`)} as a`,
  'two texts of 15 MB': `select 1 as i, repeat('x', ${15 * MB}) as a, repeat(',', ${15 * MB}) as b`,
  '2,000 rows of 15 kB': `select repeat('x', 15000) as a from range(2000)`,
};

const connectTo = (address: string) => {
  // A row is one message, however long it is.
  const channel = createChannel(address, undefined, { 'grpc.max_receive_message_length': -1 });
  return { channel, client: createClient(flight.FlightServiceDefinition, channel) };
};

interface Reader {
  readonly server: MeasuredServer;
  readonly client: ReturnType<typeof connectTo>['client'];
}

/** Reads the frame `x`; returns the bytes of the response. */
type Read = (reader: Reader) => Promise<number>;

const overHttp =
  (path: string): Read =>
  async ({ server }) => {
    const response = await server.fetch(path);
    expect(response.status).toBe(200);
    let bytes = 0;
    for await (const chunk of response.body ?? []) bytes += chunk.length;
    return bytes;
  };

const overFlight =
  (descriptor: flight.FlightDescriptor): Read =>
  async ({ client }) => {
    let bytes = 0;
    const ticket = await ticketOf(client, descriptor);
    for await (const { dataBody } of client.doGet({ ticket })) bytes += dataBody.length;
    return bytes;
  };

const SQL = 'select * from x';
const LOCAL = `engine=local&query=${encodeURIComponent(SQL)}`;
const WAYS: Readonly<Record<string, Read>> = {
  'JSON of a frame': overHttp('/exec?fmt=json&handle=x'),
  'JSON of a frame again': overHttp('/exec?fmt=json&handle=x'),
  'JSON of some rows': overHttp('/exec?fmt=json&handle=x&limit=1,2'),
  'JSON of SQL': overHttp(`/exec?fmt=json&${LOCAL}`),
  'NDJSON of a frame': overHttp('/exp?fmt=ndjson&handle=x'),
  'CSV of a frame': overHttp('/exp?fmt=csv&handle=x'),
  'CSV of SQL': overHttp(`/exp?fmt=csv&${LOCAL}`),
  'a CSV file': overHttp('/files/x.csv'),
  'Arrow of a frame': overHttp('/exp?fmt=arrow&handle=x'),
  'Arrow of SQL': overHttp(`/exp?fmt=arrow&${LOCAL}`),
  'Flight of a frame': overFlight(pathOf('x')),
  'Flight of SQL': overFlight(queryOf(SQL)),
};

async function putResult({ server }: Reader, sql: string): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ sql, handle: 'x' });
  const response = await server.fetch('/frames', { method: 'POST', headers, body });
  expect(response.status).toBeLessThan(300);
  await response.arrayBuffer();
}

async function putArrow({ server }: Reader, table: Table): Promise<void> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of encodeArrowStream(streamFromTable(table))) chunks.push(chunk);
  const headers = { 'content-type': 'application/vnd.apache.arrow.stream' };
  const response = await server.fetch('/frames/x', { method: 'PUT', headers, body: Buffer.concat(chunks) });
  expect(response.status).toBeLessThan(300);
  await response.arrayBuffer();
}

const symbols = (values: readonly string[]): Table =>
  new Table({ a: vectorFromArray(values, new Dictionary(new Utf8(), new Int32())) });

const FRAMES: readonly (readonly [string, (reader: Reader) => Promise<void>])[] = [
  ...Object.entries(RESULTS).map(([name, sql]) => [name, (reader: Reader) => putResult(reader, sql)] as const),
  ['a dictionary with one value of 20 MB', (reader) => putArrow(reader, symbols(['x'.repeat(20 * MB)]))],
  [
    'a dictionary with a short value beside 20 of 2 MB',
    (reader) => putArrow(reader, symbols(['a', ...Array.from({ length: 20 }, (_, i) => `${i}`.padEnd(2 * MB, 'x'))])),
  ],
];

async function readBigFrame(reader: Reader, read: Read): Promise<void> {
  expect(await read(reader)).toBeGreaterThan(10_000);
}

/** Returns the longest block of each way to read the frame. */
async function longestBlocks(reader: Reader): Promise<Readonly<Record<string, number>>> {
  const blocks: Record<string, number> = {};
  for (const [way, read] of Object.entries(WAYS)) {
    blocks[way] = await reader.server.longestBlock(() => readBigFrame(reader, read));
  }
  return blocks;
}

describe.runIf(CAN_MEASURE)(
  `the event loop is kept for at most ${MAX_BLOCK_MS} ms in one piece by reading`,
  { timeout: 300_000 },
  () => {
    let reader: Reader;
    beforeAll(async () => {
      let end: (() => Promise<void>) | undefined;
      const server = await startMeasured({ onEnd: (ending) => void (end = ending) });
      const { channel, client } = connectTo(server.grpcAddress);
      reader = { server, client };
      // The first requests load modules and compile functions.
      await putResult(reader, `select range(100) as a, repeat('x', ${3 * MB}) as b from range(2)`);
      for (let i = 0; i < 3; i += 1) for (const read of Object.values(WAYS)) await readBigFrame(reader, read);
      return async () => {
        channel.close();
        await end?.();
      };
    });

    // Each row takes seconds: the first one alone is fast.
    for (const [options, rows] of [[{}, FRAMES.slice(0, 1)] as const, [SLOW, FRAMES.slice(1)] as const]) {
      test.each(rows)('%s', options, async (_, put) => {
        await put(reader);
        const blocks = await longestBlocks(reader);
        expect(Object.entries(blocks).filter(([, ms]) => ms > MAX_BLOCK_MS)).toEqual([]);
      });
    }
  },
);
