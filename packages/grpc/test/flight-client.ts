import { streamFromTable } from '@svc/frames';
import { encodeArrowMessages, encapsulate, END_OF_STREAM } from '@svc/frames/ipc';
import { Any, flight, flightSql } from '@svc/proto';
import { type Table, tableFromIPC } from 'apache-arrow';
import { type CallOptions, type Channel, type Client, createClient } from 'nice-grpc';

/** A client of the Flight service. */
export type FlightClient = Client<typeof flight.FlightServiceDefinition>;

/** Creates a client of the Flight service. */
export function createFlightClient(channel: Channel): FlightClient {
  return createClient(flight.FlightServiceDefinition, channel);
}

const { PATH, CMD } = flight.FlightDescriptorDescriptorType;

/** The descriptor of a frame. */
export const pathOf = (...path: string[]) => flight.FlightDescriptor.fromPartial({ type: PATH, path });

/** A Flight SQL message in an Any. */
export function packed(name: string, value: Uint8Array): Uint8Array {
  return Any.encode({ typeUrl: `type.googleapis.com/arrow.flight.protocol.sql.${name}`, value }).finish();
}

/** The descriptor of a Flight SQL command. */
export function commandOf(name: string, value: Uint8Array = new Uint8Array(0)): flight.FlightDescriptor {
  return flight.FlightDescriptor.fromPartial({ type: CMD, cmd: packed(name, value) });
}

/** The descriptor of a query. */
export function queryOf(query: string): flight.FlightDescriptor {
  return commandOf(
    'CommandStatementQuery',
    flightSql.CommandStatementQuery.encode({ query, transactionId: undefined }).finish(),
  );
}

/** The messages of an upload. */
export async function* uploadOf(flightDescriptor: flight.FlightDescriptor, table?: Table) {
  if (table === undefined) {
    yield { flightDescriptor };
    return;
  }
  let isFirst = true;
  for await (const { header, body } of encodeArrowMessages(streamFromTable(table))) {
    yield { ...(isFirst && { flightDescriptor }), dataHeader: header, dataBody: Buffer.concat(body) };
    isFirst = false;
  }
}

/** Uploads, and returns the metadata of the results. */
export async function put(
  client: FlightClient,
  descriptor: flight.FlightDescriptor,
  table?: Table,
  options?: CallOptions,
) {
  const results: Uint8Array[] = [];
  for await (const { appMetadata } of client.doPut(uploadOf(descriptor, table), options)) results.push(appMetadata);
  return results;
}

/** Sends the messages of an upload, and half-closes the call only after the result. Returns the result. */
export async function putAndWait(
  client: FlightClient,
  messages: AsyncIterable<Partial<flight.FlightData>>,
  options?: CallOptions,
): Promise<Uint8Array | undefined> {
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  async function* unended() {
    yield* messages;
    await ended;
  }
  try {
    for await (const { appMetadata } of client.doPut(unended(), options)) return appMetadata;
    return undefined;
  } finally {
    end();
  }
}

/** Reads the data of a ticket. */
export async function getTicket(client: FlightClient, ticket: Uint8Array, options?: CallOptions): Promise<Table> {
  const parts: Uint8Array[] = [];
  for await (const { dataHeader, dataBody } of client.doGet({ ticket }, options)) {
    parts.push(encapsulate(dataHeader), dataBody);
  }
  return tableFromIPC(Buffer.concat([...parts, END_OF_STREAM]));
}

/** The ticket of a FlightInfo. */
export function ticketOf({ endpoint: [first] }: flight.FlightInfo): Uint8Array {
  return first?.ticket?.ticket ?? new Uint8Array(0);
}

/** Gets the ticket of a descriptor and reads it. */
export async function get(client: FlightClient, descriptor: flight.FlightDescriptor): Promise<Table> {
  return getTicket(client, ticketOf(await client.getFlightInfo(descriptor)));
}

/** The rows of a table as plain objects. */
export function rowsOf(table: Table): unknown[] {
  return table.toArray().map((row: { toJSON(): unknown }) => row.toJSON());
}
