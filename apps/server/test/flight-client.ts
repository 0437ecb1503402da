import { once } from 'node:events';
import http2 from 'node:http2';
import { streamFromTable } from '@svc/frames';
import { encodeArrowMessages } from '@svc/frames/ipc';
import { Any, flight, flightSql } from '@svc/proto';
import { Table, vectorFromArray } from 'apache-arrow';
import { createChannel, createClient } from 'nice-grpc';
import { onTestFinished } from 'vitest';
import { startProcess } from './server-process.ts';

const { PATH, CMD } = flight.FlightDescriptorDescriptorType;

/** The descriptor of a frame. */
export const pathOf = (handle: string) => flight.FlightDescriptor.fromPartial({ type: PATH, path: [handle] });

/** A server, and a Flight client of it. */
export async function startFlight(env: Readonly<Record<string, string>> = {}, args: readonly string[] = []) {
  const server = await startProcess({ env, args });
  const address = server.grpcAddress;
  const channel = createChannel(address);
  onTestFinished(() => channel.close());
  return { server, address, client: createClient(flight.FlightServiceDefinition, channel) };
}

/** A Flight client. */
export type FlightClient = Awaited<ReturnType<typeof startFlight>>['client'];

async function* upload(handle: string, bytes: number) {
  const table = new Table({ x: vectorFromArray(Float64Array.from({ length: bytes / 8 }, (_, row) => row)) });
  for await (const { header, body } of encodeArrowMessages(streamFromTable(table))) {
    yield { flightDescriptor: pathOf(handle), dataHeader: header, dataBody: Buffer.concat(body) };
  }
}

/** Puts a frame of a size. */
export async function put(client: FlightClient, handle: string, bytes: number): Promise<void> {
  for await (const _ of client.doPut(upload(handle, bytes)));
}

/** What the rows of a descriptor are read with. */
export async function ticketOf(client: FlightClient, descriptor: flight.FlightDescriptor): Promise<Uint8Array> {
  const { endpoint } = await client.getFlightInfo(descriptor);
  return endpoint[0]?.ticket?.ticket ?? new Uint8Array(0);
}

/** The descriptor of a query. */
export function queryOf(query: string): flight.FlightDescriptor {
  const typeUrl = 'type.googleapis.com/arrow.flight.protocol.sql.CommandStatementQuery';
  const value = flightSql.CommandStatementQuery.encode({ query, transactionId: undefined }).finish();
  return flight.FlightDescriptor.fromPartial({ type: CMD, cmd: Any.encode({ typeUrl, value }).finish() });
}

/** A connection without a gRPC library. */
export async function connect(address: string): Promise<http2.ClientHttp2Session> {
  const session = http2.connect(`http://${address}`);
  session.on('error', () => undefined);
  onTestFinished(() => session.destroy());
  await once(session, 'connect');
  return session;
}

/** A call without a gRPC library: the message can declare any length, and the response bytes are raw. */
export function call(
  session: http2.ClientHttp2Session,
  method: string,
  length: number,
  message: Uint8Array,
  headers: http2.OutgoingHttpHeaders = {},
): http2.ClientHttp2Stream {
  const stream = session.request({
    ':method': 'POST',
    ':path': `/arrow.flight.protocol.FlightService/${method}`,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  stream.on('error', () => undefined);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(length, 1);
  stream.end(Buffer.concat([head, message]));
  return stream;
}

/** Reads what a ticket stands for. */
export function doGet(
  session: http2.ClientHttp2Session,
  ticket: Uint8Array,
  headers?: http2.OutgoingHttpHeaders,
): http2.ClientHttp2Stream {
  const message = flight.Ticket.encode({ ticket }).finish();
  return call(session, 'DoGet', message.length, message, headers);
}

/** Reads all of an answer and says how much that was. */
export async function readAll(session: http2.ClientHttp2Session, ticket: Uint8Array): Promise<number> {
  let bytes = 0;
  await once(
    doGet(session, ticket).on('data', (chunk: Buffer) => (bytes += chunk.length)),
    'end',
  );
  return bytes;
}
