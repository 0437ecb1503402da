import { once } from 'node:events';
import http2 from 'node:http2';
import { gzipSync } from 'node:zlib';
import { streamFromTable } from '@svc/frames';
import { encodeArrowMessages } from '@svc/frames/ipc';
import {
  Any,
  flight,
  flightSql,
  GetFrameRequest,
  HealthCheckRequest,
  ListFramesRequest,
  packFlightSql,
  PutFrameRequest,
  QueryRequest,
  reflectionV1,
} from '@svc/proto';
import { Binary, Field, Float64, List, Schema, Table, Utf8, vectorFromArray } from 'apache-arrow';
import { Status } from 'nice-grpc';
import { beforeAll, describe, expect, test } from 'vitest';
import { byTier } from '../../../test/tier.ts';
import { CAN_MEASURE, MAX_BLOCK_MS, type MeasuredServer, startMeasured } from './measured-server.ts';

const { PATH, CMD } = flight.FlightDescriptorDescriptorType;
const FLIGHT = 'arrow.flight.protocol.FlightService';
const FRAMES = 'svc.frames.v1.FrameService';
const REFLECTION = 'grpc.reflection.v1.ServerReflection';
const MB = 1_000_000;

/** A call that tries to keep the event loop, and the status that it may have. */
interface Hostile {
  readonly method: string;
  readonly status: keyof typeof Status;
  readonly messages: (grpc: Grpc) => Promise<readonly Uint8Array[]> | readonly Uint8Array[];
  readonly headers?: http2.OutgoingHttpHeaders;
}

/** Sends messages of any bytes. */
interface Grpc {
  readonly server: MeasuredServer;
  call(method: string, messages: readonly Uint8Array[], headers?: http2.OutgoingHttpHeaders): Promise<Answer>;
}

interface Answer {
  readonly status: string | undefined;
  readonly bytes: Buffer;
}

const repeated = (bytes: readonly number[], count: number): Buffer =>
  Buffer.alloc(bytes.length * count, Uint8Array.from(bytes));

type DescriptorParts = Parameters<typeof flight.FlightDescriptor.fromPartial>[0];
const descriptor = (parts: DescriptorParts): Uint8Array =>
  flight.FlightDescriptor.encode(flight.FlightDescriptor.fromPartial(parts)).finish();
const path = (handle: string): Uint8Array => descriptor({ type: PATH, path: [handle] });
const command = (name: string, value: Uint8Array): Uint8Array =>
  descriptor({ type: CMD, cmd: packFlightSql(name, value) });
const query = (sql: string): Uint8Array =>
  command(
    'CommandStatementQuery',
    flightSql.CommandStatementQuery.encode({ query: sql, transactionId: undefined }).finish(),
  );
const tables = (parts: Partial<flightSql.CommandGetTables>): Uint8Array =>
  command(
    'CommandGetTables',
    flightSql.CommandGetTables.encode(flightSql.CommandGetTables.fromPartial(parts)).finish(),
  );
const action = (type: string, body: Uint8Array): Uint8Array => flight.Action.encode({ type, body }).finish();
const prepare = (sql: string): Uint8Array =>
  action(
    'CreatePreparedStatement',
    packFlightSql(
      'ActionCreatePreparedStatementRequest',
      flightSql.ActionCreatePreparedStatementRequest.encode({ query: sql, transactionId: undefined }).finish(),
    ),
  );
const data = (parts: Parameters<typeof flight.FlightData.fromPartial>[0]): Uint8Array =>
  flight.FlightData.encode(flight.FlightData.fromPartial(parts)).finish();

async function upload(to: DescriptorParts, table: Table): Promise<Uint8Array[]> {
  const messages = [data({ flightDescriptor: to })];
  for await (const { header, body } of encodeArrowMessages(streamFromTable(table))) {
    messages.push(data({ dataHeader: header, dataBody: Buffer.concat(body) }));
  }
  // The descriptor comes with the schema.
  messages[0] = Buffer.concat(messages.slice(0, 2));
  messages.splice(1, 1);
  return messages;
}
const uploadTo = (handle: string, table: Table): Promise<Uint8Array[]> => upload({ type: PATH, path: [handle] }, table);

const floats = (rows: number): Table => new Table({ a: vectorFromArray(new Float64Array(rows)) });
const schemaOnly = (schema: Schema): Table => new Table(schema);
const columns = (count: number): Table =>
  schemaOnly(new Schema(Array.from({ length: count }, (_, i) => new Field(`column_${i}`, new Float64(), true))));

function deep(levels: number): Table {
  let type: List | Float64 = new Float64();
  for (let i = 0; i < levels; i += 1) type = new List(new Field('item', type, true));
  return schemaOnly(new Schema([new Field('deep', type, true)]));
}

/** The ticket of a descriptor. */
async function ticket(grpc: Grpc, of: Uint8Array): Promise<readonly Uint8Array[]> {
  const { bytes } = await grpc.call(`${FLIGHT}/GetFlightInfo`, [of]);
  const [endpoint] = flight.FlightInfo.decode(bytes.subarray(5)).endpoint;
  return [flight.Ticket.encode({ ticket: endpoint?.ticket?.ticket ?? new Uint8Array(0) }).finish()];
}

/** The upload of values that are bound to a prepared statement. */
async function bound(grpc: Grpc, sql: string, table: Table): Promise<Uint8Array[]> {
  const { bytes } = await grpc.call(`${FLIGHT}/DoAction`, [prepare(sql)]);
  const { value } = Any.decode(flight.Result.decode(bytes.subarray(5)).body);
  const { preparedStatementHandle } = flightSql.ActionCreatePreparedStatementResult.decode(value);
  const cmd = packFlightSql(
    'CommandPreparedStatementQuery',
    flightSql.CommandPreparedStatementQuery.encode({ preparedStatementHandle }).finish(),
  );
  return upload({ type: CMD, cmd }, table);
}

const getFrame = (parts: Parameters<typeof GetFrameRequest.fromPartial>[0]): Uint8Array =>
  GetFrameRequest.encode(GetFrameRequest.fromPartial(parts)).finish();
const frameQuery = (parts: Parameters<typeof QueryRequest.fromPartial>[0]): Uint8Array =>
  QueryRequest.encode(QueryRequest.fromPartial(parts)).finish();
const reflected = (fileContainingSymbol: string): Uint8Array =>
  reflectionV1.ServerReflectionRequest.encode(
    reflectionV1.ServerReflectionRequest.fromPartial({ fileContainingSymbol }),
  ).finish();

const info = (name: string, status: Hostile['status'], ...messages: readonly (() => Uint8Array)[]) =>
  [name, { method: `${FLIGHT}/GetFlightInfo`, status, messages: () => messages.map((create) => create()) }] as const;
const act = (name: string, status: Hostile['status'], message: () => Uint8Array) =>
  [name, { method: `${FLIGHT}/DoAction`, status, messages: () => [message()] }] as const;
const put = (name: string, status: Hostile['status'], messages: Hostile['messages']) =>
  [name, { method: `${FLIGHT}/DoPut`, status, messages }] as const;
const send = (name: string, status: Hostile['status'], method: string, message: () => Uint8Array) =>
  [name, { method, status, messages: () => [message()] }] as const;

const ROWS: readonly (readonly [string, Hostile])[] = [
  info('a command of 32 MB', 'RESOURCE_EXHAUSTED', () => query(`select 1 ${' '.repeat(32 * MB)}`)),
  info('16 million parts of a path', 'RESOURCE_EXHAUSTED', () => repeated([0x1a, 0], 16 * MB)),
  info('500,000 parts of a path', 'INVALID_ARGUMENT', () => repeated([0x1a, 0], MB / 2)),
  info('500,000 unknown fields', 'INVALID_ARGUMENT', () => repeated([0x78, 1], MB / 2)),
  info('a handle of 1 MB', 'NOT_FOUND', () => path('h'.repeat(MB))),
  info('SQL of 1 MB of parentheses', 'INVALID_ARGUMENT', () => query(`select ${'('.repeat(MB)}`)),
  info('500,000 types of tables', 'INVALID_ARGUMENT', () => command('CommandGetTables', repeated([0x22, 0], MB / 2))),
  info('a million numbers of infos', 'INVALID_ARGUMENT', () =>
    command('CommandGetSqlInfo', flightSql.CommandGetSqlInfo.encode({ info: Array(MB).fill(1) }).finish()),
  ),
  act('an unclosed comment of 1 MB', 'INVALID_ARGUMENT', () => prepare(`insert ${'/*'.repeat(MB / 2)}`)),
  act('a comment of 1 MB before a query', 'OK', () => prepare(`insert into y /*${'é'.repeat(MB / 2)}*/ select 1`)),
  act('a comment of 1 MB before a mistake', 'INVALID_ARGUMENT', () =>
    prepare(`drop table /*${'é'.repeat(MB / 2)}*/ 1x`),
  ),
  act('500,000 placeholders', 'INVALID_ARGUMENT', () => prepare(`insert into x values (${'?,'.repeat(MB / 2 - 20)}?)`)),
  act('an action of 32 MB', 'RESOURCE_EXHAUSTED', () => action('é'.repeat(16 * MB), new Uint8Array(1))),
  act('a prepared statement of 16 MB', 'RESOURCE_EXHAUSTED', () => prepare(`select ${'1,'.repeat(8 * MB)}1`)),
  act('a body of 3 MB of unknown fields', 'INVALID_ARGUMENT', () =>
    action('ClosePreparedStatement', repeated([0x78, 1], 1.5 * MB)),
  ),
  act('200,000 endpoints', 'INVALID_ARGUMENT', () =>
    action(
      'CancelFlightInfo',
      flight.CancelFlightInfoRequest.encode({
        info: flight.FlightInfo.fromPartial({ endpoint: Array.from({ length: 200_000 }, () => ({})) }),
      }).finish(),
    ),
  ),
  act('100,000 session options', 'INVALID_ARGUMENT', () =>
    action(
      'SetSessionOptions',
      flight.SetSessionOptionsRequest.encode({
        sessionOptions: new Map(
          Array.from({ length: 100_000 }, (_, i) => [`o${i}`, flight.SessionOptionValue.fromPartial({})]),
        ),
      }).finish(),
    ),
  ),
  send('a ticket of 60 MB', 'RESOURCE_EXHAUSTED', `${FLIGHT}/DoGet`, () =>
    flight.Ticket.encode({ ticket: Buffer.alloc(60 * MB) }).finish(),
  ),
  send('a ticket of 4 MB', 'INVALID_ARGUMENT', `${FLIGHT}/DoGet`, () =>
    flight.Ticket.encode({ ticket: Buffer.alloc(4 * MB) }).finish(),
  ),
  [
    'a pattern of 1 MB',
    {
      method: `${FLIGHT}/DoGet`,
      status: 'INVALID_ARGUMENT',
      messages: (grpc) => ticket(grpc, tables({ tableNameFilterPattern: '%a'.repeat(MB / 2) })),
    },
  ],
  send('a handshake of 60 MB', 'RESOURCE_EXHAUSTED', `${FLIGHT}/Handshake`, () =>
    flight.HandshakeRequest.encode({ protocolVersion: 0n, payload: Buffer.alloc(60 * MB) }).finish(),
  ),
  send('a prefix of 1 MB', 'OK', `${FLIGHT}/ListFlights`, () =>
    flight.Criteria.encode({ expression: Buffer.alloc(MB, 'é') }).finish(),
  ),
  put('20,000 columns', 'INVALID_ARGUMENT', () => uploadTo('x', columns(20_000))),
  put('a schema with 3 MB of metadata', 'INVALID_ARGUMENT', () =>
    uploadTo('x', schemaOnly(new Schema([new Field('a', new Float64(), true)], new Map([['a', '"'.repeat(3 * MB)]])))),
  ),
  put('a schema with 1 MB of metadata', 'OK', () =>
    uploadTo('x', schemaOnly(new Schema([new Field('a', new Float64(), true)], new Map([['a', '"'.repeat(MB)]])))),
  ),
  put('a schema 1,000 levels deep', 'INVALID_ARGUMENT', () => uploadTo('x', deep(1000))),
  put('application metadata of 50 MB', 'RESOURCE_EXHAUSTED', async () => [
    ...(await uploadTo('x', floats(1))),
    data({ appMetadata: Buffer.alloc(50 * MB) }),
  ]),
  put('30 million fields of a message', 'INVALID_ARGUMENT', () => [repeated([0x1a, 0], 30 * MB)]),
  put('30 MB of a message', 'INVALID_ARGUMENT', () => [data({ dataBody: Buffer.alloc(30 * MB) })]),
  put('a bound text of 15 MB', 'RESOURCE_EXHAUSTED', (grpc) =>
    bound(grpc, 'select $1', new Table({ a: vectorFromArray(['"\n'.repeat(7.5 * MB)], new Utf8()) })),
  ),
  put('a bound list of 1 million numbers', 'RESOURCE_EXHAUSTED', (grpc) =>
    bound(
      grpc,
      'select $1',
      new Table({ a: vectorFromArray([new Float64Array(MB)], new List(new Field('item', new Float64(), true))) }),
    ),
  ),
  put('a bound list of 50,000 numbers', 'OK', (grpc) =>
    bound(
      grpc,
      'select $1',
      new Table({ a: vectorFromArray([new Float64Array(50_000)], new List(new Field('item', new Float64(), true))) }),
    ),
  ),
  put('a bound list with a blob of 500 kB', 'OK', (grpc) =>
    bound(
      grpc,
      'select $1',
      new Table({
        a: vectorFromArray([[new Uint8Array(MB / 2).fill(255)]], new List(new Field('item', new Binary(), true))),
      }),
    ),
  ),
  put('100,000 bound rows', 'INVALID_ARGUMENT', (grpc) => bound(grpc, 'select $1', floats(100_000))),
  send('SQL of 32 MB in a query', 'RESOURCE_EXHAUSTED', `${FRAMES}/Query`, () =>
    frameQuery({ sql: `select '${'é'.repeat(16 * MB)}'` }),
  ),
  send('a parameter of 1 MB of bytes', 'OK', `${FRAMES}/Query`, () =>
    frameQuery({ sql: 'select octet_length($1) as bytes', params: [{ bytesValue: Buffer.alloc(MB, 255) }] }),
  ),
  send('500,000 parameters', 'INVALID_ARGUMENT', `${FRAMES}/Query`, () =>
    Buffer.concat([frameQuery({ sql: 'select 1' }), repeated([0x12, 0], MB / 2)]),
  ),
  send('300,000 columns to read', 'INVALID_ARGUMENT', `${FRAMES}/GetFrame`, () =>
    Buffer.concat([getFrame({ handle: 'x' }), repeated([0x22, 1, 97], 300_000)]),
  ),
  send('a handle of 60 MB', 'RESOURCE_EXHAUSTED', `${FRAMES}/GetFrame`, () =>
    getFrame({ handle: 'é'.repeat(30 * MB) }),
  ),
  send('a target of 60 MB', 'INVALID_ARGUMENT', `${FRAMES}/PutFrame`, () =>
    PutFrameRequest.encode(PutFrameRequest.fromPartial({ target: { handle: 'é'.repeat(30 * MB) } })).finish(),
  ),
  send('a list by a prefix of 60 MB', 'RESOURCE_EXHAUSTED', `${FRAMES}/ListFrames`, () =>
    ListFramesRequest.encode(ListFramesRequest.fromPartial({ prefix: 'é'.repeat(30 * MB) })).finish(),
  ),
  send('a symbol of 60 MB', 'RESOURCE_EXHAUSTED', `${REFLECTION}/ServerReflectionInfo`, () =>
    reflected('é'.repeat(30 * MB)),
  ),
  send('a symbol of 1 MB', 'OK', `${REFLECTION}/ServerReflectionInfo`, () => reflected('a'.repeat(MB))),
  send('a service of 60 MB', 'RESOURCE_EXHAUSTED', 'grpc.health.v1.Health/Check', () =>
    HealthCheckRequest.encode({ service: 'é'.repeat(30 * MB) }).finish(),
  ),
  [
    'a message of 60 MB, compressed',
    {
      method: `${FLIGHT}/DoPut`,
      status: 'RESOURCE_EXHAUSTED',
      headers: { 'grpc-encoding': 'gzip' },
      messages: () => [gzipSync(repeated([0x1a, 0], 30 * MB))],
    },
  ],
  [
    '15 kB of cookies',
    {
      method: `${FLIGHT}/GetSchema`,
      status: 'OK',
      headers: { cookie: Array.from({ length: 60 }, () => ';'.repeat(250)) },
      messages: () => [query('select 1')],
    },
  ],
];

function createGrpc(server: MeasuredServer, session: http2.ClientHttp2Session): Grpc {
  return {
    server,
    async call(method, messages, headers = {}) {
      const stream = session.request({
        ':method': 'POST',
        ':path': `/${method}`,
        'content-type': 'application/grpc',
        te: 'trailers',
        ...headers,
      });
      const chunks: Buffer[] = [];
      let status: http2.IncomingHttpHeaders = {};
      for (const name of ['response', 'trailers'] as const) {
        stream.on(name, (received: http2.IncomingHttpHeaders) => void (status = received));
      }
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('error', () => undefined);
      const ended = Promise.race([once(stream, 'end'), once(stream, 'close')]);
      for (const message of messages) {
        if (stream.readableEnded || stream.destroyed) break;
        const head = Buffer.alloc(5, 'grpc-encoding' in headers ? 1 : 0);
        head.writeUInt32BE(message.length, 1);
        stream.write(head);
        if (!stream.write(message)) await Promise.race([once(stream, 'drain'), ended]);
      }
      if (!stream.readableEnded) stream.end();
      await ended;
      // The rest of a refused request is not read.
      stream.close();
      return { status: Status[Number(status['grpc-status'])], bytes: Buffer.concat(chunks) };
    },
  };
}

describe.runIf(CAN_MEASURE)(`the event loop is kept for at most ${MAX_BLOCK_MS} ms in one piece by`, () => {
  let grpc: Grpc;
  beforeAll(async () => {
    let end: (() => Promise<void>) | undefined;
    const server = await startMeasured({ onEnd: (ending) => void (end = ending) });
    // A request that is refused early waits in the memory of the client.
    const session = http2.connect(`http://${server.grpcAddress}`, { maxSessionMemory: 1000 });
    session.on('error', () => undefined);
    grpc = createGrpc(server, session);
    // The first calls load modules and compile functions.
    for (let i = 0; i < 3; i += 1) {
      await grpc.call(`${FLIGHT}/DoPut`, await uploadTo('x', floats(10)));
      await grpc.call(`${FLIGHT}/DoGet`, await ticket(grpc, path('x')));
      await grpc.call(`${FLIGHT}/DoGet`, await ticket(grpc, tables({ includeSchema: true })));
      await grpc.call(`${FLIGHT}/DoPut`, await bound(grpc, 'select $1', floats(1)));
      await grpc.call(`${FRAMES}/GetFrame`, [Buffer.concat([getFrame({ handle: 'x' }), repeated([0x22, 0], 5000)])]);
    }
    return async () => {
      session.destroy();
      await end?.();
    };
  });

  for (const [options, rows] of byTier(ROWS)) {
    test.each(rows)('%s', options, async (_, { method, messages, status, headers }) => {
      const ms = await grpc.server.longestBlock(
        async (bytes) => expect((await grpc.call(method, bytes, headers)).status).toBe(status),
        () => messages(grpc),
      );
      expect(ms).toBeLessThanOrEqual(MAX_BLOCK_MS);
    });
  }
});
