import { encodeArrowStream, streamFromTable } from '@svc/frames';
import { encodeArrowMessages } from '@svc/frames/ipc';
import { flight, flightSql, packFlightSql } from '@svc/proto';
import { Table, vectorFromArray } from 'apache-arrow';
import { createChannel, createClient } from 'nice-grpc';
import { expect } from 'vitest';
import { pathOf, queryOf, ticketOf } from './flight-client.ts';
import { type MeasuredServer, startMeasured } from './measured-server.ts';

/** A measured server, and a Flight client of it. */
export interface WideServer {
  readonly server: MeasuredServer;
  readonly flight: ReturnType<typeof connectTo>['client'];
  /** Ends both. */
  close(): Promise<void>;
}

const connectTo = (address: string) => {
  const channel = createChannel(address);
  return { channel, client: createClient(flight.FlightServiceDefinition, channel) };
};

/** Starts a server that has run some requests with fewer columns: the first ones load modules and compile functions. */
export async function startWide(requests: (columns: number) => Iterable<Prepare>): Promise<WideServer> {
  let end: (() => Promise<void>) | undefined;
  const server = await startMeasured({ onEnd: (ending) => void (end = ending) });
  const { channel, client } = connectTo(server.grpcAddress);
  const wide = {
    server,
    flight: client,
    async close() {
      channel.close();
      await end?.();
    },
  };
  for (const columns of [100, 1000, 1000]) {
    for (const prepare of requests(columns)) await (await prepare(wide))();
    for (const handle of HANDLES) await server.fetch(`/frames/${handle}`, { method: 'DELETE' });
  }
  return wide;
}

/** The frames of the requests. */
const HANDLES = ['wide', 'new', 'old', 'lines', 'parquet'];

/** Prepares a request about frames of many columns, and returns the part of it that is measured. */
export type Prepare = (wide: WideServer) => Promise<() => Promise<unknown>> | (() => Promise<unknown>);

export function longestBlockOf(prepare: Prepare, wide: WideServer): Promise<number> {
  return wide.server.longestBlock(
    (run) => run(),
    () => prepare(wide),
  );
}

const CSV = 'text/csv';
const JSON_ROWS = 'application/json';
const NDJSON = 'application/x-ndjson';
const ARROW = 'application/vnd.apache.arrow.stream';
const PARQUET = 'application/vnd.apache.parquet';

const nameOf = (i: number): string => `column_${i}`;
const namesOf = (count: number, name = nameOf): readonly string[] => Array.from({ length: count }, (_, i) => name(i));

function tableOf(names: readonly string[]): Table {
  const column = vectorFromArray(new Float64Array(1).fill(0.5));
  return new Table(Object.fromEntries(names.map((name) => [name, column])));
}

const objectOf = (names: readonly string[]): string => `{${names.map((name) => `"${name}":0.5`).join(',')}}`;

/** The bytes of a frame of one row, by content type. */
const BODIES: Readonly<Record<string, (names: readonly string[], wide: WideServer) => Promise<Uint8Array> | string>> = {
  [CSV]: (names) => `${names.join(',')}\n${names.map(() => '0.5').join(',')}\n`,
  [JSON_ROWS]: (names) => `[${objectOf(names)}]`,
  [NDJSON]: (names) => `${objectOf(names)}\n`,
  [ARROW]: async (names) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of encodeArrowStream(streamFromTable(tableOf(names)))) chunks.push(chunk);
    return Buffer.concat(chunks);
  },
  [PARQUET]: async (names, wide) => {
    await putColumns(wide, 'parquet', names.length);
    return new Uint8Array(await (await wide.server.fetch('/files/parquet.parquet')).arrayBuffer());
  },
};

/** Puts a frame of many columns, if there is none with this handle. */
async function putColumns(wide: WideServer, handle: string, columns: number): Promise<void> {
  const { status } = await wide.server.fetch(`/frames/${handle}`, { method: 'HEAD' });
  if (status === 404) await drained(wide.flight.doPut(upload(handle, namesOf(columns))));
}

async function* upload(handle: string, names: readonly string[]) {
  for await (const { header, body } of encodeArrowMessages(streamFromTable(tableOf(names)))) {
    yield { flightDescriptor: pathOf(handle), dataHeader: header, dataBody: Buffer.concat(body) };
  }
}

/** Reads a response to its end. */
export async function drained(messages: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of messages);
}

async function sent(responding: Promise<Response>, status: number): Promise<void> {
  const response = await responding;
  const text = await response.text();
  expect({ status: response.status, text: response.status === status ? '' : text }).toEqual({ status, text: '' });
}

const writing =
  (type: string, columns: number, { method = 'PUT', handle = 'new' } = {}): Prepare =>
  async (wide) => {
    const { server } = wide;
    const bytes = await BODIES[type]?.(namesOf(columns), wide);
    if (method === 'POST') await putColumns(wide, handle, columns);
    else await server.fetch(`/frames/${handle}`, { method: 'DELETE' });
    const init = { method, headers: { 'content-type': type }, body: bytes ?? null };
    return () => sent(server.fetch(`/frames/${handle}`, init), method === 'PUT' ? 201 : 200);
  };
const appending = (type: string, columns: number): Prepare => writing(type, columns, { method: 'POST', handle: 'old' });

const lines =
  (fields: number, handle: string): Prepare =>
  ({ server }) => {
    const body = `${handle} ${namesOf(fields)
      .map((name) => `${name}=0.5`)
      .join(',')}\n`;
    return () => sent(server.fetch('/write', { method: 'POST', body }), 204);
  };

const getting =
  (path: string, columns: number): Prepare =>
  async (wide) => {
    await putColumns(wide, 'wide', columns);
    return () => sent(wide.server.fetch(path), 200);
  };

/** A call of Flight about a frame of many columns. */
const calling =
  (columns: number, call: (client: WideServer['flight']) => Promise<unknown>): Prepare =>
  async (wide) => {
    await putColumns(wide, 'wide', columns);
    return () => call(wide.flight);
  };

const reading =
  (columns: number, descriptor: flight.FlightDescriptor): Prepare =>
  async (wide) => {
    await putColumns(wide, 'wide', columns);
    const ticket = await ticketOf(wide.flight, descriptor);
    return () => drained(wide.flight.doGet({ ticket }));
  };

const FRAME = pathOf('wide');
const SQL = queryOf('select * from wide');
const TABLES = flight.FlightDescriptor.fromPartial({
  type: flight.FlightDescriptorDescriptorType.CMD,
  cmd: packFlightSql(
    'CommandGetTables',
    flightSql.CommandGetTables.encode(flightSql.CommandGetTables.fromPartial({ includeSchema: true })).finish(),
  ),
});

/** The requests about a wide frame, by name. */
export const wideRequests = (columns: number): Readonly<Record<string, Prepare>> => ({
  'a put as CSV': writing(CSV, columns),
  'a put as JSON': writing(JSON_ROWS, columns),
  'a put as NDJSON': writing(NDJSON, columns),
  'a put as Arrow': writing(ARROW, columns),
  'a put as Parquet': writing(PARQUET, columns),
  'an append as JSON': appending(JSON_ROWS, columns),
  'an append as NDJSON': appending(NDJSON, columns),
  'an append as Arrow': appending(ARROW, columns),
  'an append as Parquet': appending(PARQUET, columns),
  'the first line of a table': lines(columns, 'lines'),
  'another line of a table': lines(columns, 'lines'),
  'a DoPut': (wide) => () => drained(wide.flight.doPut(upload('new', namesOf(columns)))),
  'a description': getting('/frames/wide', columns),
  'a list': getting('/frames', columns),
  ListFlights: calling(columns, (client) => drained(client.listFlights({}))),
  'GetFlightInfo of a frame': calling(columns, (client) => client.getFlightInfo(FRAME)),
  'GetSchema of a frame': calling(columns, (client) => client.getSchema(FRAME)),
  'DoGet of a frame': reading(columns, FRAME),
  'GetFlightInfo of SQL': calling(columns, (client) => client.getFlightInfo(SQL)),
  'GetSchema of SQL': calling(columns, (client) => client.getSchema(SQL)),
  'DoGet of SQL': reading(columns, SQL),
  'GetTables with schemas': reading(columns, TABLES),
});
