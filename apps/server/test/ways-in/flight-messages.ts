import { streamFromTable } from '@svc/frames';
import { encodeArrowMessages } from '@svc/frames/ipc';
import { Any, flight, flightSql } from '@svc/proto';
import { tableFromArrays } from 'apache-arrow';
import { type Channel, createClient } from 'nice-grpc';
import { drain, grpc, type GrpcOptions, type Send, type Target } from './way.ts';

const clientOf = (channel: Channel) => createClient(flight.FlightServiceDefinition, channel);

export type FlightClient = ReturnType<typeof clientOf>;

/** Sends a Flight call. */
export function flights(run: (client: FlightClient, options: GrpcOptions, target: Target) => Promise<unknown>): Send {
  return grpc((target, options) => run(clientOf(target.channel), options, target));
}

/** The name of a Flight method, as the server has it. */
export const rpc = (name: string): string => `/${flight.FlightServiceDefinition.fullName}/${name}`;

/** Packs a message of Flight SQL in an Any. */
export function packed(name: string, value: Uint8Array): Uint8Array {
  return Any.encode({ typeUrl: `type.googleapis.com/arrow.flight.protocol.sql.${name}`, value }).finish();
}

/** The descriptor of a command. */
export function commandOf(name: string, value: Uint8Array): flight.FlightDescriptor {
  const type = flight.FlightDescriptorDescriptorType.CMD;
  return flight.FlightDescriptor.fromPartial({ type, cmd: packed(name, value) });
}

/** The messages of an upload of one row. */
export async function* upload(flightDescriptor: flight.FlightDescriptor) {
  const table = tableFromArrays({ id: new Int32Array([1]) });
  for await (const { header, body } of encodeArrowMessages(streamFromTable(table))) {
    yield { flightDescriptor, dataHeader: header, dataBody: Buffer.concat(body) };
  }
}

/** Gets a ticket and reads it. */
export async function get(
  client: FlightClient,
  descriptor: flight.FlightDescriptor,
  options: GrpcOptions,
): Promise<void> {
  const { endpoint } = await client.getFlightInfo(descriptor, options);
  await drain(client.doGet({ ticket: endpoint[0]?.ticket?.ticket ?? new Uint8Array(0) }, options));
}

/** The body of the action that prepares a statement. */
export function prepareBody(query: string): Uint8Array {
  const request = flightSql.ActionCreatePreparedStatementRequest.encode({ query, transactionId: undefined });
  return packed('ActionCreatePreparedStatementRequest', request.finish());
}

/** Prepares a statement; resolves to its handle. */
export async function prepare(client: FlightClient, query: string, options: Pick<GrpcOptions, 'metadata'>) {
  const action = { type: 'CreatePreparedStatement', body: prepareBody(query) };
  for await (const { body } of client.doAction(action, options)) {
    return flightSql.ActionCreatePreparedStatementResult.decode(Any.decode(body).value).preparedStatementHandle;
  }
  throw new Error('The statement was not prepared.');
}
