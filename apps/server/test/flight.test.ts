import { once } from 'node:events';
import http2 from 'node:http2';
import { encodeArrowMessages, streamFromTable } from '@svc/frames';
import { Any, flight, flightSql } from '@svc/proto';
import { Table, vectorFromArray } from 'apache-arrow';
import { createChannel, createClient, Status } from 'nice-grpc';
import { expect, onTestFinished, test } from 'vitest';
import { residentBytes } from '../../../tools/process-resources.js';
import { startProcess } from './server-process.ts';

const FRAME_BYTES = 8_000_000;
const { PATH, CMD } = flight.FlightDescriptorDescriptorType;
const frame = flight.FlightDescriptor.fromPartial({ type: PATH, path: ['frame'] });

async function startFlight(env: Readonly<Record<string, string>> = {}) {
  const server = await startProcess({ env });
  const address = server.grpcAddress;
  const channel = createChannel(address);
  onTestFinished(() => channel.close());
  return { server, address, client: createClient(flight.FlightServiceDefinition, channel) };
}

async function* upload() {
  const table = new Table({ x: vectorFromArray(Float64Array.from({ length: FRAME_BYTES / 8 }, (_, row) => row)) });
  for await (const { header, body } of encodeArrowMessages(streamFromTable(table))) {
    yield { flightDescriptor: frame, dataHeader: header, dataBody: Buffer.concat(body) };
  }
}

async function connect(address: string): Promise<http2.ClientHttp2Session> {
  const session = http2.connect(`http://${address}`);
  session.on('error', () => undefined);
  onTestFinished(() => session.destroy());
  await once(session, 'connect');
  return session;
}

/** A call without a gRPC library: its message says to have a length, and the bytes of the answer are as they come. */
function call(
  session: http2.ClientHttp2Session,
  method: string,
  length: number,
  message: Uint8Array,
): http2.ClientHttp2Stream {
  const stream = session.request({
    ':method': 'POST',
    ':path': `/arrow.flight.protocol.FlightService/${method}`,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.on('error', () => undefined);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(length, 1);
  stream.end(Buffer.concat([head, message]));
  return stream;
}

function doGet(session: http2.ClientHttp2Session, ticket: Uint8Array): http2.ClientHttp2Stream {
  const message = flight.Ticket.encode({ ticket }).finish();
  return call(session, 'DoGet', message.length, message);
}

async function readAll(session: http2.ClientHttp2Session, ticket: Uint8Array): Promise<number> {
  let bytes = 0;
  await once(
    doGet(session, ticket).on('data', (chunk: Buffer) => (bytes += chunk.length)),
    'end',
  );
  return bytes;
}

test(
  '20 of 100 readers that do not read neither slow the others nor fill the memory',
  { timeout: 60_000 },
  async () => {
    const { client, address, server } = await startFlight({ SERVICE_CACHE_SIZE: '0.1' });
    for await (const _ of client.doPut(upload()));
    const { endpoint } = await client.getFlightInfo(frame);
    const ticket = endpoint[0]?.ticket?.ticket ?? new Uint8Array(0);
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
    const before = residentBytes(server.child.pid);
    const alone = Math.min(await readFast(), await readFast());
    const stuck = slow.map((session) => doGet(session, ticket).pause());
    await Promise.all(stuck.map((stream) => once(stream, 'response')));
    const beside = Math.min(await readFast(), await readFast());
    expect(residentBytes(server.child.pid) - before).toBeLessThan(256 * 1024 * 1024);
    expect(beside).toBeLessThan(2 * alone);
  },
);

test('a client that vanishes frees its query within a second', async () => {
  const { client, address, server } = await startFlight({ SERVICE_SQL_MAX_CONCURRENT: '1' });
  const command = flightSql.CommandStatementQuery.encode({
    query: 'SELECT * FROM range(10000000000)',
    transactionId: undefined,
  });
  const cmd = Any.encode({
    typeUrl: 'type.googleapis.com/arrow.flight.protocol.sql.CommandStatementQuery',
    value: command.finish(),
  }).finish();
  const { endpoint } = await client.getFlightInfo(flight.FlightDescriptor.fromPartial({ type: CMD, cmd }));
  const session = await connect(address);
  const stream = doGet(session, endpoint[0]?.ticket?.ticket ?? new Uint8Array(0));
  await once(stream, 'data');
  session.destroy();
  const startMs = performance.now();
  const response = await server.fetch('/exec?query=SELECT+1&engine=local&fmt=json');
  expect(response.status).toBe(200);
  expect(performance.now() - startMs).toBeLessThan(1500);
});

test.each([
  ['a message of a gigabyte', 1_000_000_000, 'RESOURCE_EXHAUSTED'],
  ['a message that is cut short', 1000, 'INVALID_ARGUMENT'],
  ['a message of noise', 500, 'INVALID_ARGUMENT'],
] as const)('%s is a status, and the server goes on', async (_what, length, status) => {
  const { client, address } = await startFlight();
  const stream = call(await connect(address), 'DoPut', length, Buffer.alloc(500, 0xaf));
  const [headers] = await once(stream, 'response');
  expect(headers).toMatchObject({ 'grpc-status': String(Status[status]) });
  const names: (string | undefined)[] = [];
  for await (const { flightDescriptor } of client.listFlights({})) names.push(flightDescriptor?.path[0]);
  expect(names).toEqual([]);
});
