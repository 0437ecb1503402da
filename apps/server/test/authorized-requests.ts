import { streamFromTable } from '@svc/frames';
import { encodeArrowMessages } from '@svc/frames/internal';
import { Any, flight, flightSql, FrameServiceDefinition, reflectionV1 } from '@svc/proto';
import type { OperationName, SqlTarget } from '@svc/service';
import { tableFromArrays, tableToIPC } from 'apache-arrow';
import { type Channel, ClientError, createClient, Metadata } from 'nice-grpc';
import { pathOf, queryOf } from './flight-client.ts';

/** A server to send requests to. */
export interface Target {
  readonly url: string;
  readonly channel: Channel;
}

/** Sends one request with a value of `Authorization`. Resolves to `ok`, or to the code of the error. */
export type Send = (target: Target, authorization: string | undefined) => Promise<string>;

/** A way to use an operation. */
export interface Way {
  readonly name: string;
  /** The operation behind it; undefined if any caller may use it. */
  readonly operation?: OperationName;
  readonly target?: SqlTarget;
  /** The outcome for a caller with all permissions. Default `ok`. */
  readonly allowed?: string;
  readonly send: Send;
}

function http(path: string, init: RequestInit = {}): Send {
  return async ({ url }, authorization) => {
    const headers = { ...init.headers, ...(authorization !== undefined && { authorization }) };
    const response = await fetch(`${url}${path}`, { ...init, headers });
    if (response.ok) {
      await response.body?.cancel();
      return 'ok';
    }
    const { code } = (await response.json()) as { code: string };
    return code;
  };
}

type GrpcOptions = { readonly metadata: Metadata; readonly onTrailer: (trailer: Metadata) => void };

function grpc(run: (channel: Channel, options: GrpcOptions) => Promise<unknown>): Send {
  return async ({ channel }, authorization) => {
    let code = 'no code';
    const metadata = Metadata(authorization === undefined ? {} : { authorization });
    const onTrailer = (trailer: Metadata): void => void (code = trailer.get('svc-error-code') ?? code);
    try {
      await run(channel, { metadata, onTrailer });
      return 'ok';
    } catch (error) {
      if (error instanceof ClientError) return code;
      throw error;
    }
  };
}

async function drain(messages: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of messages);
}

async function* one<T>(message: T) {
  yield message;
}

const frames = (channel: Channel) => createClient(FrameServiceDefinition, channel);
const flights = (channel: Channel) => createClient(flight.FlightServiceDefinition, channel);
const table = tableFromArrays({ id: new Int32Array([1]) });

async function* frameUpload(handle: string) {
  yield { target: { handle } };
  yield { chunk: tableToIPC(table, 'stream') };
}

async function* flightUpload(flightDescriptor: flight.FlightDescriptor, rows = table) {
  for await (const { header, body } of encodeArrowMessages(streamFromTable(rows))) {
    yield { flightDescriptor, dataHeader: header, dataBody: Buffer.concat(body) };
  }
}

function packed(name: string, value: Uint8Array): Uint8Array {
  return Any.encode({ typeUrl: `type.googleapis.com/arrow.flight.protocol.sql.${name}`, value }).finish();
}

function command(name: string, value: Uint8Array): flight.FlightDescriptor {
  const type = flight.FlightDescriptorDescriptorType.CMD;
  return flight.FlightDescriptor.fromPartial({ type, cmd: packed(name, value) });
}

const getTables = command(
  'CommandGetTables',
  flightSql.CommandGetTables.encode(flightSql.CommandGetTables.fromPartial({})).finish(),
);
const ingest = command(
  'CommandStatementIngest',
  flightSql.CommandStatementIngest.encode(
    flightSql.CommandStatementIngest.fromPartial({
      table: 'ingested',
      tableDefinitionOptions: { ifNotExist: 1, ifExists: 2 },
    }),
  ).finish(),
);
const update = (query: string) =>
  command(
    'CommandStatementUpdate',
    flightSql.CommandStatementUpdate.encode({ query, transactionId: undefined }).finish(),
  );

/** Gets a ticket and reads it. */
async function get(channel: Channel, descriptor: flight.FlightDescriptor, options: GrpcOptions): Promise<void> {
  const client = flights(channel);
  const { endpoint } = await client.getFlightInfo(descriptor, options);
  await drain(client.doGet({ ticket: endpoint[0]?.ticket?.ticket ?? new Uint8Array(0) }, options));
}

const SQL = 'select count(*) from shown';
const JSON_TYPE = { 'content-type': 'application/json' };
const ROWS = { body: '[{"id":1}]', headers: JSON_TYPE };
const keep = (engine: string) => ({
  method: 'POST',
  headers: JSON_TYPE,
  body: JSON.stringify({ sql: SQL, engine, handle: 'kept' }),
});
const form = (fields: Readonly<Record<string, string>>) => ({ method: 'POST', body: new URLSearchParams(fields) });

/** Every way to use every operation; `shown` is a frame of the tenant. */
export const WAYS: readonly Way[] = [
  { name: 'GET /exec?handle', operation: 'readFrame', send: http('/exec?handle=shown&fmt=json') },
  { name: 'GET /exp?handle', operation: 'readFrame', send: http('/exp?handle=shown') },
  { name: 'GET /files, Parquet', operation: 'openFile', send: http('/files/shown.parquet') },
  { name: 'GET /files, CSV', operation: 'findFile', send: http('/files/shown.csv') },
  { name: 'GET /frames', operation: 'listFrames', send: http('/frames') },
  { name: 'GET /frames/{handle}', operation: 'describeFrame', send: http('/frames/shown') },
  { name: 'PUT /frames/{handle}', operation: 'putFrame', send: http('/frames/put', { method: 'PUT', ...ROWS }) },
  { name: 'POST /frames', operation: 'putFrame', send: http('/frames', { method: 'POST', ...ROWS }) },
  { name: 'POST /frames/{handle}', operation: 'appendFrame', send: http('/frames/put', { method: 'POST', ...ROWS }) },
  {
    name: 'PATCH /frames/{handle}',
    operation: 'expireFrame',
    send: http('/frames/shown', { method: 'PATCH', body: '{"ttl":null}' }),
  },
  {
    name: 'DELETE /frames/{handle}',
    operation: 'dropFrame',
    allowed: 'handle_not_found',
    send: http('/frames/none', { method: 'DELETE' }),
  },
  { name: 'GET /exec?query, local', operation: 'query', send: http(`/exec?query=${SQL}&engine=local&fmt=json`) },
  { name: 'GET /exp?query, local', operation: 'query', send: http(`/exp?query=${SQL}&engine=local`) },
  {
    name: 'POST /exec, local',
    operation: 'query',
    send: http('/exec?engine=local&fmt=json', { method: 'POST', body: SQL, headers: { 'content-type': 'text/plain' } }),
  },
  {
    name: 'a form, local',
    operation: 'query',
    send: http('/exec', form({ query: SQL, engine: 'local', fmt: 'json' })),
  },
  {
    name: 'GET /exec?query, scheduler',
    operation: 'query',
    target: 'scheduler',
    allowed: 'scheduler_not_configured',
    send: http(`/exec?query=${SQL}&engine=scheduler&fmt=json`),
  },
  {
    name: 'GET /exec?query, tsdb',
    operation: 'forward',
    allowed: 'tsdb_not_configured',
    send: http(`/exec?query=${SQL}&fmt=json`),
  },
  {
    name: 'POST /exp, tsdb',
    operation: 'forward',
    allowed: 'tsdb_not_configured',
    send: http('/exp', { method: 'POST', body: SQL, headers: { 'content-type': 'text/plain' } }),
  },
  {
    name: 'a form, tsdb',
    operation: 'forward',
    allowed: 'tsdb_not_configured',
    send: http('/exec', form({ query: SQL, fmt: 'json' })),
  },
  { name: 'GET /chk', operation: 'forward', allowed: 'tsdb_not_configured', send: http('/chk?f=json&j=x') },
  { name: 'POST /frames with SQL, local', operation: 'keepQuery', send: http('/frames', keep('local')) },
  {
    name: 'POST /frames with SQL, tsdb',
    operation: 'keepQuery',
    target: 'tsdb',
    allowed: 'tsdb_not_configured',
    send: http('/frames', keep('tsdb')),
  },
  {
    name: 'POST /frames with SQL, scheduler',
    operation: 'keepQuery',
    target: 'scheduler',
    allowed: 'scheduler_not_configured',
    send: http('/frames', keep('scheduler')),
  },
  { name: 'GET /', send: http('/') },
  { name: 'an unknown path', allowed: 'route_not_found', send: http('/none') },
  { name: 'an unknown method', allowed: 'method_not_allowed', send: http('/frames', { method: 'DELETE' }) },
  { name: 'GetFrame', operation: 'readFrame', send: grpc((c, o) => drain(frames(c).getFrame({ handle: 'shown' }, o))) },
  {
    name: 'DescribeFrame',
    operation: 'describeFrame',
    send: grpc((c, o) => frames(c).describeFrame({ handle: 'shown' }, o)),
  },
  { name: 'ListFrames', operation: 'listFrames', send: grpc((c, o) => frames(c).listFrames({}, o)) },
  { name: 'PutFrame', operation: 'putFrame', send: grpc((c, o) => frames(c).putFrame(frameUpload('put'), o)) },
  {
    name: 'ExtendFrame',
    operation: 'expireFrame',
    send: grpc((c, o) => frames(c).extendFrame({ handle: 'shown' }, o)),
  },
  {
    name: 'DropFrame',
    operation: 'dropFrame',
    allowed: 'handle_not_found',
    send: grpc((c, o) => frames(c).dropFrame({ handle: 'none' }, o)),
  },
  { name: 'Query', operation: 'query', send: grpc((c, o) => drain(frames(c).query({ sql: SQL }, o))) },
  {
    name: 'KeepQuery',
    operation: 'keepQuery',
    send: grpc((c, o) => frames(c).keepQuery({ sql: SQL, handle: 'kept' }, o)),
  },
  {
    name: 'KeepQuery, tsdb',
    operation: 'keepQuery',
    target: 'tsdb',
    allowed: 'tsdb_not_configured',
    send: grpc((c, o) => frames(c).keepQuery({ sql: SQL, engine: 'tsdb', handle: 'kept' }, o)),
  },
  { name: 'Flight, a frame', operation: 'readFrame', send: grpc((c, o) => get(c, pathOf('shown'), o)) },
  { name: 'Flight, GetSchema', operation: 'readFrame', send: grpc((c, o) => flights(c).getSchema(pathOf('shown'), o)) },
  { name: 'Flight, ListFlights', operation: 'listFrames', send: grpc((c, o) => drain(flights(c).listFlights({}, o))) },
  {
    name: 'Flight, DoPut',
    operation: 'putFrame',
    send: grpc((c, o) => drain(flights(c).doPut(flightUpload(pathOf('put')), o))),
  },
  { name: 'Flight, ListActions', send: grpc((c, o) => drain(flights(c).listActions({}, o))) },
  { name: 'Flight SQL, a query', operation: 'query', send: grpc((c, o) => get(c, queryOf(SQL), o)) },
  { name: 'Flight SQL, GetTables', operation: 'listFrames', send: grpc((c, o) => get(c, getTables, o)) },
  {
    name: 'Flight SQL, ingest',
    operation: 'appendFrame',
    send: grpc((c, o) => drain(flights(c).doPut(flightUpload(ingest), o))),
  },
  {
    name: 'Flight SQL, CREATE TABLE AS',
    operation: 'keepQuery',
    send: grpc((c, o) =>
      drain(flights(c).doPut(one({ flightDescriptor: update(`create or replace table kept as ${SQL}`) }), o)),
    ),
  },
  {
    name: 'Flight SQL, DROP TABLE',
    operation: 'dropFrame',
    allowed: 'handle_not_found',
    send: grpc((c, o) => drain(flights(c).doPut(one({ flightDescriptor: update('drop table none') }), o))),
  },
  {
    name: 'Flight SQL, prepare',
    operation: 'describeQuery',
    send: grpc((c, o) => {
      const value = flightSql.ActionCreatePreparedStatementRequest.encode({
        query: SQL,
        transactionId: undefined,
      }).finish();
      const body = packed('ActionCreatePreparedStatementRequest', value);
      return drain(flights(c).doAction({ type: 'CreatePreparedStatement', body }, o));
    }),
  },
  {
    name: 'reflection',
    send: grpc((c, o) =>
      drain(
        createClient(reflectionV1.ServerReflectionDefinition, c).serverReflectionInfo(one({ listServices: '' }), o),
      ),
    ),
  },
];
