import { type FrameStream, streamFromTable } from '@svc/frames';
import { encapsulate, encodeArrowMessages, encodeArrowSchema } from '@svc/frames/ipc';
import { Any, flight, flightSql } from '@svc/proto';
import { tableFromArrays } from 'apache-arrow';
import { type CallContext, createServer, ServerError, Status } from 'nice-grpc';
import { onTestFinished } from 'vitest';
import type { BoundStatement, Cluster } from '../driver.ts';

/** How the stand-in answers a statement. */
export interface FakeAnswer {
  /** Fails when it is planned. */
  readonly refusal?: ServerError;
  readonly endpoints?: readonly FakeEndpoint[];
  readonly totalRecords?: number;
  /** Whether the FlightInfo has the columns. Default true. */
  readonly hasSchema?: boolean;
}

/** The data of one endpoint. */
export interface FakeEndpoint {
  readonly locations?: readonly string[];
  readonly messages: (context: CallContext) => AsyncIterable<FlightMessage>;
}

/** A stand-in for what real Flight SQL servers cannot be made to do. */
export interface FakeFlight {
  readonly cluster: Cluster;
  /** What the clients called, in order: the name of an RPC or action, and the SQL or handle. */
  readonly calls: string[];
  /** The metadata of the last call. */
  readonly metadata: () => Readonly<Record<string, string | undefined>>;
}

/** Options of `startFakeFlight`. */
export interface FakeFlightOptions {
  readonly answer: (sql: string) => FakeAnswer;
  /** The actions that it lists. Default: none. */
  readonly actions?: readonly string[];
  /** Returns the state of a cancelled query, for each request. Default: cancelled. */
  readonly cancelState?: () => number;
  /** Whether it has GetSchema. Default false. */
  readonly hasGetSchema?: boolean;
}

/** Starts a stand-in, which ends with the test. */
export async function startFakeFlight(options: FakeFlightOptions): Promise<FakeFlight> {
  const { answer, actions = [], cancelState = () => flight.CancelStatus.CANCEL_STATUS_CANCELLED } = options;
  const calls: string[] = [];
  let seen: Readonly<Record<string, string | undefined>> = {};
  const tickets: FakeEndpoint[] = [];

  function note(call: string, { metadata }: CallContext): void {
    calls.push(call);
    const traceparent = metadata.get('traceparent');
    const [authorization, requestId] = [metadata.get('authorization'), metadata.get('x-request-id')];
    seen = { authorization, requestId, ...(traceparent !== undefined && { traceparent }) };
  }

  function infoOf(sql: string): flight.FlightInfo {
    const { refusal, endpoints = [], totalRecords = -1, hasSchema = true } = answer(sql);
    if (refusal !== undefined) throw refusal;
    return flight.FlightInfo.fromPartial({
      schema: hasSchema ? schemaBytes() : new Uint8Array(0),
      totalRecords: BigInt(totalRecords),
      endpoint: endpoints.map((endpoint) => ({
        ticket: { ticket: Buffer.from(String(tickets.push(endpoint) - 1)) },
        location: (endpoint.locations ?? []).map((uri) => ({ uri })),
      })),
    });
  }

  const server = createServer();
  server.add(flight.FlightServiceDefinition, {
    ...UNIMPLEMENTED,
    async getFlightInfo({ cmd }: flight.FlightDescriptor, context: CallContext) {
      const sql = sqlOf(cmd);
      note(`GetFlightInfo ${sql}`, context);
      return infoOf(sql);
    },
    async getSchema({ cmd }: flight.FlightDescriptor, context: CallContext) {
      note(`GetSchema ${sqlOf(cmd)}`, context);
      if (options.hasGetSchema !== true) throw new ServerError(Status.UNIMPLEMENTED, 'Not here.');
      return { schema: schemaBytes() };
    },
    async *doGet({ ticket }: flight.Ticket, context: CallContext) {
      note('DoGet', context);
      const endpoint = tickets[Number(Buffer.from(ticket).toString())];
      if (endpoint === undefined) throw new ServerError(Status.NOT_FOUND, 'No such ticket.');
      yield* endpoint.messages(context);
    },
    async *doPut(messages: AsyncIterable<flight.FlightData>, context: CallContext) {
      for await (const { flightDescriptor } of messages) {
        if (flightDescriptor) note(`DoPut ${sqlOf(flightDescriptor.cmd)}`, context);
      }
      const preparedStatementHandle = Buffer.from('bound');
      yield { appMetadata: flightSql.DoPutPreparedStatementResult.encode({ preparedStatementHandle }).finish() };
    },
    async *doAction(action: flight.Action, context: CallContext) {
      note(nameOf(action), context);
      const body = resultOf(action, cancelState);
      if (body !== undefined) yield { body };
    },
    async *listActions(_request: flight.Empty, context: CallContext) {
      note('ListActions', context);
      for (const type of actions) yield { type, description: '' };
    },
  });
  const port = await server.listen('127.0.0.1:0');
  onTestFinished(() => server.forceShutdown());
  return {
    cluster: { protocol: 'flight-sql', host: '127.0.0.1', port, hasTls: false, token: 'secret' },
    calls,
    metadata: () => seen,
  };
}

async function unimplemented(): Promise<never> {
  throw new ServerError(Status.UNIMPLEMENTED, 'Not here.');
}

// eslint-disable-next-line require-yield -- It only fails.
async function* unimplementedStream(): AsyncGenerator<never> {
  throw new ServerError(Status.UNIMPLEMENTED, 'Not here.');
}

const UNIMPLEMENTED = {
  handshake: unimplementedStream,
  listFlights: unimplementedStream,
  pollFlightInfo: unimplemented,
  doExchange: unimplementedStream,
};

const COLUMN = tableFromArrays({ id: BigInt64Array.of(1n, 2n, 3n) });

/** A frame of three rows. */
function threeRows(): FrameStream {
  return streamFromTable(COLUMN);
}

function schemaBytes(): Uint8Array {
  return encapsulate(encodeArrowSchema(COLUMN.schema).header);
}

/** An Arrow message. */
export type FlightMessage = Pick<flight.FlightData, 'dataHeader' | 'dataBody'>;

/** The messages of a frame. */
export async function* messagesOf(frame = threeRows()): AsyncGenerator<FlightMessage> {
  for await (const { header, body } of encodeArrowMessages(frame)) {
    yield { dataHeader: header, dataBody: Buffer.concat(body) };
  }
}

/** A statement without frames. */
export function statementOf(sql: string, more: Partial<BoundStatement> = {}): BoundStatement {
  const parameters = more.params?.length ?? 0;
  return { sql, params: [], parameters, frames: [], tenant: 'default', tag: 'svc-1', ...more };
}

function nameOf({ type, body }: flight.Action): string {
  return type === 'ClosePreparedStatement' ? `${type} ${handleIn(body)}` : type;
}

/** The handle of a prepared statement is its SQL. */
function resultOf({ type, body }: flight.Action, cancelState: () => number): Uint8Array | undefined {
  switch (type) {
    case 'CreatePreparedStatement': {
      const { query } = flightSql.ActionCreatePreparedStatementRequest.decode(Any.decode(body).value);
      const codec = flightSql.ActionCreatePreparedStatementResult;
      return packed(codec.encode(codec.fromPartial({ preparedStatementHandle: Buffer.from(query) })).finish());
    }
    case 'CancelFlightInfo':
      return flight.CancelFlightInfoResult.encode({ status: cancelState() }).finish();
    case 'CancelQuery':
      return packed(flightSql.ActionCancelQueryResult.encode({ result: cancelState() }).finish());
    default:
      return undefined;
  }
}

function packed(value: Uint8Array): Uint8Array {
  return Any.encode({ typeUrl: '', value }).finish();
}

function handleIn(body: Uint8Array): string {
  const { preparedStatementHandle } = flightSql.ActionClosePreparedStatementRequest.decode(Any.decode(body).value);
  return Buffer.from(preparedStatementHandle).toString();
}

/** The SQL of a statement, or the handle of a prepared one, which is its SQL until values are bound. */
function sqlOf(command: Uint8Array): string {
  const { typeUrl, value } = Any.decode(command);
  if (typeUrl.endsWith('CommandStatementQuery')) return flightSql.CommandStatementQuery.decode(value).query;
  const { preparedStatementHandle } = flightSql.CommandPreparedStatementQuery.decode(value);
  return Buffer.from(preparedStatementHandle).toString();
}
