import { once } from 'node:events';
import { status as Status } from '@grpc/grpc-js';
import { flight } from '@svc/proto';
import { Int64, Table, tableFromIPC, Utf8, vectorFromArray } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import {
  createFlightClient,
  get,
  getTicket,
  pathOf,
  put,
  rowsOf,
  ticketOf,
  uploadOf,
} from '../../test/flight-client.ts';
import { collect, connectRaw, deferred, failureOf, framed, startServer } from '../../test/start-server.ts';

const ids = (count: number) =>
  new Table({
    id: vectorFromArray(
      Array.from({ length: count }, (_, row) => BigInt(row)),
      new Int64(),
    ),
  });

async function startFlight(options: Parameters<typeof startServer>[0] = {}) {
  const server = await startServer(options);
  return { ...server, flightClient: createFlightClient(server.channel) };
}

describe('a frame', () => {
  test('is put, described and read', async () => {
    const { flightClient } = await startFlight();
    const [version] = await put(flightClient, pathOf('ids'), ids(3));
    const info = await flightClient.getFlightInfo(pathOf('ids'));
    expect(info).toMatchObject({ totalRecords: 3n, ordered: true, flightDescriptor: pathOf('ids') });
    expect(Buffer.from(info.appMetadata)).toEqual(version);
    expect(info.endpoint).toHaveLength(1);
    expect(info.endpoint[0]?.location).toEqual([]);
    expect(tableFromIPC(info.schema).schema.names).toEqual(['id']);
    expect(rowsOf(await getTicket(flightClient, ticketOf(info)))).toEqual([{ id: 0n }, { id: 1n }, { id: 2n }]);
  });

  test('is replaced by a second put', async () => {
    const { flightClient } = await startFlight();
    await put(flightClient, pathOf('ids'), ids(3));
    await put(flightClient, pathOf('ids'), ids(1));
    expect((await get(flightClient, pathOf('ids'))).numRows).toBe(1);
  });

  test('acknowledges the metadata of each message before the client sends the next, and its version last', async () => {
    const { flightClient } = await startFlight();
    const [schema, batch] = await messagesOf(ids(2));
    const acknowledged: string[] = [];
    let wake = deferred();
    async function* upload() {
      yield { ...schema, flightDescriptor: pathOf('acknowledged') };
      for (const text of ['first', 'second']) {
        wake = deferred();
        yield { ...batch, appMetadata: Buffer.from(text) };
        await wake.promise;
      }
      yield batch;
      yield { appMetadata: Buffer.from('only metadata') };
    }
    for await (const { appMetadata } of flightClient.doPut(upload())) {
      acknowledged.push(Buffer.from(appMetadata).toString());
      wake.resolve();
    }
    const { appMetadata } = await flightClient.getFlightInfo(pathOf('acknowledged'));
    expect(acknowledged).toEqual(['first', 'second', 'only metadata', Buffer.from(appMetadata).toString()]);
    expect((await get(flightClient, pathOf('acknowledged'))).numRows).toBe(6);
  });

  test('without rows has its columns', async () => {
    const { flightClient } = await startFlight();
    await put(flightClient, pathOf('none'), ids(0));
    expect((await get(flightClient, pathOf('none'))).schema.names).toEqual(['id']);
  });

  test('of many megabytes arrives complete, in messages of about two', { tags: ['slow'] }, async () => {
    const { flightClient } = await startFlight();
    const many = new Table({ x: vectorFromArray(Float64Array.from({ length: 1_000_000 }, (_, row) => row)) });
    await put(flightClient, pathOf('many'), many);
    const info = await flightClient.getFlightInfo(pathOf('many'));
    const messages = await collect(flightClient.doGet({ ticket: ticketOf(info) }));
    expect(Math.max(...messages.map(({ dataBody }) => dataBody.length))).toBeLessThan(3.2 * 1024 * 1024);
    const column = (await getTicket(flightClient, ticketOf(info))).getChild('x');
    expect([column?.length, column?.get(0), column?.get(999_999)]).toEqual([1_000_000, 0, 999_999]);
  });

  test('is listed by the prefix of its handle', async () => {
    const { flightClient } = await startFlight();
    for (const handle of ['b', 'a2', 'a1']) await put(flightClient, pathOf(handle), ids(1));
    const list = async (expression: string) =>
      (await collect(flightClient.listFlights({ expression: Buffer.from(expression) }))).map(
        ({ flightDescriptor }) => flightDescriptor?.path[0],
      );
    expect(await list('')).toEqual(['a1', 'a2', 'b']);
    expect(await list('a')).toEqual(['a1', 'a2']);
  });

  test('has its schema, and is ready when it is polled', async () => {
    const { flightClient } = await startFlight();
    await put(flightClient, pathOf('ids'), ids(3));
    const { schema } = await flightClient.getSchema(pathOf('ids'));
    expect(tableFromIPC(schema).schema.names).toEqual(['id']);
    const poll = await flightClient.pollFlightInfo(pathOf('ids'));
    expect(poll).toMatchObject({ progress: 1, flightDescriptor: undefined, info: { totalRecords: 3n } });
  });
});

describe('a handshake', () => {
  test('with any name returns a token', async () => {
    const { flightClient } = await startFlight();
    let authorization: string | undefined;
    const answers = await collect(
      flightClient.handshake(one({ payload: Buffer.from('x') }), {
        onHeader: (header) => (authorization = header.get('authorization')),
      }),
    );
    expect(authorization).toMatch(/^Bearer \S+$/);
    expect(answers).toHaveLength(1);
  });
});

async function* one<T>(item: T) {
  yield item;
}

describe('a ticket', () => {
  test('that this server did not issue is refused', async () => {
    const { flightClient } = await startFlight();
    await put(flightClient, pathOf('ids'), ids(3));
    const ticket = ticketOf(await flightClient.getFlightInfo(pathOf('ids')));
    const forged = Buffer.from(ticket);
    forged[forged.length - 20] = (forged[forged.length - 20] ?? 0) ^ 1;
    const elsewhere = await startFlight();
    await put(elsewhere.flightClient, pathOf('ids'), ids(3));
    const foreign = ticketOf(await elsewhere.flightClient.getFlightInfo(pathOf('ids')));
    for (const bad of [forged, foreign, Buffer.from('ids'), new Uint8Array(0)]) {
      const failure = await failureOf((options) => getTicket(flightClient, bad, options));
      expect(failure).toMatchObject({ code: Status.INVALID_ARGUMENT, errorCode: 'invalid_argument' });
    }
  });

  test('can be renewed', async () => {
    const { flightClient } = await startFlight();
    await put(flightClient, pathOf('ids'), ids(3));
    const info = await flightClient.getFlightInfo(pathOf('ids'));
    const body = flight.RenewFlightEndpointRequest.encode({ endpoint: info.endpoint[0] }).finish();
    const [answer] = await collect(flightClient.doAction({ type: 'RenewFlightEndpoint', body }));
    const endpoint = flight.FlightEndpoint.decode(answer?.body ?? new Uint8Array(0));
    expect((await getTicket(flightClient, endpoint.ticket?.ticket ?? new Uint8Array(0))).numRows).toBe(3);
  });

  test('of a frame that was dropped is NOT_FOUND', async () => {
    const { flightClient, client } = await startFlight();
    await put(flightClient, pathOf('ids'), ids(3));
    const ticket = ticketOf(await flightClient.getFlightInfo(pathOf('ids')));
    await client.dropFrame({ handle: 'ids' });
    expect(await failureOf((options) => getTicket(flightClient, ticket, options))).toMatchObject({
      code: Status.NOT_FOUND,
    });
  });
});

describe('bad input', () => {
  const unknown = flight.FlightDescriptor.fromPartial({});
  const garbage = flight.FlightDescriptor.fromPartial({ type: 2, cmd: Buffer.from([0xff, 0xff]) });

  test.each([
    ['no part', pathOf(), 'INVALID_ARGUMENT', 'The path "" of the descriptor does not have exactly one part.'],
    [
      'two parts',
      pathOf('a', 'b'),
      'INVALID_ARGUMENT',
      'The path "a/b" of the descriptor does not have exactly one part.',
    ],
    ['neither path nor command', unknown, 'INVALID_ARGUMENT', 'The descriptor has neither a path nor a command.'],
    ['a command of nothing', garbage, 'INVALID_ARGUMENT', 'The bytes sent as "Any" are not a valid message.'],
    ['an unknown handle', pathOf('nope'), 'NOT_FOUND', 'There is no frame "nope".'],
  ] as const)('a descriptor with %s is refused', async (_what, descriptor, status, sentence) => {
    const { flightClient } = await startFlight();
    const failure = await failureOf((options) => flightClient.getFlightInfo(descriptor, options));
    expect(failure).toMatchObject({ code: Status[status], details: expect.stringContaining(sentence) });
  });

  test('an upload without a message, a descriptor or a schema is INVALID_ARGUMENT', async () => {
    const { flightClient } = await startFlight();
    const uploads = [none(), one({}), uploadOf(pathOf('h'))];
    for (const upload of uploads) {
      const failure = await failureOf((options) => collect(flightClient.doPut(upload, options)));
      expect(failure.code).toBe(Status.INVALID_ARGUMENT);
    }
    expect(await collect(flightClient.listFlights({}))).toEqual([]);
  });

  test.each([
    ['a cut body', (message: Sent) => ({ ...message, dataBody: message.dataBody.subarray(0, -8) })],
    [
      'a body too long',
      (message: Sent) => ({ ...message, dataBody: Buffer.concat([message.dataBody, Buffer.alloc(64)]) }),
    ],
    ['a header of noise', (message: Sent) => ({ ...message, dataHeader: Buffer.alloc(64, 0xab) })],
    ['a batch of more columns than the schema', (_message: Sent, { wider }: Others) => wider],
    ['a batch of shorter values than the schema', (_message: Sent, { narrower }: Others) => narrower],
  ])('%s is INVALID_ARGUMENT and leaves nothing behind', async (_what, spoil) => {
    const { flightClient } = await startFlight();
    const [schema, batch] = await messagesOf(ids(100));
    const [, wider] = await messagesOf(new Table({ a: vectorFromArray(['x'], new Utf8()), b: vectorFromArray([1n]) }));
    const [, narrower] = await messagesOf(new Table({ id: vectorFromArray(new Int32Array(100)) }));
    const spoilt = [schema, spoil(batch, { wider, narrower })];
    const failure = await failureOf((options) => collect(flightClient.doPut(each(spoilt), options)));
    expect(failure.code).toBe(Status.INVALID_ARGUMENT);
    expect(await collect(flightClient.listFlights({}))).toEqual([]);
  });

  test('DoExchange and unknown actions are UNIMPLEMENTED', async () => {
    const { flightClient } = await startFlight();
    const failures = [
      await failureOf((options) => collect(flightClient.doExchange(none(), options))),
      await failureOf((options) => collect(flightClient.doAction({ type: 'toString' }, options))),
      await failureOf((options) => collect(flightClient.doAction({ type: 'BeginTransaction' }, options))),
    ];
    expect(failures.map(({ code }) => code)).toEqual([12, 12, 12]);
  });
});

type Sent = { readonly dataHeader: Uint8Array; readonly dataBody: Buffer };
type Others = Readonly<Record<'wider' | 'narrower', Sent>>;

/** The schema and the batch of an upload. */
async function messagesOf(table: Table): Promise<[Sent, Sent]> {
  const [schema, batch] = (await collect(uploadOf(pathOf('h'), table))).filter((message) => 'dataBody' in message);
  if (schema === undefined || batch === undefined) throw new Error('The table has no batch.');
  return [schema, batch];
}

async function* none() {}

async function* each<T>(items: readonly T[]) {
  yield* items;
}

describe('a client that disconnects', () => {
  test('during an upload leaves nothing behind', async () => {
    const { flightClient, answered, service } = await startFlight();
    const controller = new AbortController();
    const putFrame = service.putFrame.bind(service);
    const begun = deferred();
    service.putFrame = (...args) => (begun.resolve(), putFrame(...args));
    const stuck = async function* () {
      yield* uploadOf(pathOf('half'), ids(10));
      await begun.promise;
      controller.abort();
    };
    const upload = collect(flightClient.doPut(stuck(), { signal: controller.signal }));
    await expect(upload).rejects.toThrow('aborted');
    await expect.poll(() => answered().at(-1)?.status).toBe('CANCELLED');
    expect(await collect(flightClient.listFlights({}))).toEqual([]);
  });

  test('closes its read', async () => {
    const { flightClient, service } = await startFlight();
    await put(flightClient, pathOf('big'), new Table({ x: vectorFromArray(new Float64Array(4_000_000)) }));
    const closed: string[] = [];
    const readFrame = service.readFrame.bind(service);
    service.readFrame = async (...args) => {
      const reading = await readFrame(...args);
      return { ...reading, close: () => (reading.close(), void closed.push(reading.info.handle)) };
    };
    const info = await flightClient.getFlightInfo(pathOf('big'));
    for await (const _ of flightClient.doGet({ ticket: ticketOf(info) })) break;
    await expect.poll(() => closed).toEqual(['big', 'big']);
  });
});

describe('a deadline that passes while the client does not read', () => {
  /** A read that sends half of its data, and the other half on demand. */
  async function startHalfRead() {
    const server = await startFlight();
    const { flightClient, service } = server;
    await put(flightClient, pathOf('big'), new Table({ x: vectorFromArray(new Float64Array(200_000)) }));
    const ticket = ticketOf(await flightClient.getFlightInfo(pathOf('big')));
    const readFrame = service.readFrame.bind(service);
    const rest = deferred();
    let signal: AbortSignal | undefined;
    service.readFrame = async (call, ...args) => {
      signal = call.signal;
      const reading = await readFrame(call, ...args);
      const { schema, batches } = reading.stream;
      const twice = async function* () {
        for await (const batch of batches) {
          yield batch;
          await rest.promise;
          yield batch;
        }
      };
      return { ...reading, stream: { schema, batches: twice() } };
    };
    const stream = (await connectRaw(server.port)).request({
      ':method': 'POST',
      ':path': '/arrow.flight.protocol.FlightService/DoGet',
      'content-type': 'application/grpc',
      'grpc-timeout': '200m',
    });
    stream.pause().end(framed(flight.Ticket.encode({ ticket }).finish()));
    await expect.poll(() => server.answered().at(-1)?.status).toBe('DEADLINE_EXCEEDED');
    return { stream, rest, isAborted: () => signal?.aborted };
  }

  test('ends the read at once', async () => {
    const { isAborted, rest } = await startHalfRead();
    expect(isAborted()).toBe(true);
    rest.resolve();
  });

  test('reaches the client when it reads on, whatever was still to be sent', async () => {
    const { stream, rest } = await startHalfRead();
    rest.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    const [trailers] = await once(stream.resume(), 'trailers');
    expect(trailers).toMatchObject({ 'grpc-status': '4', 'svc-error-code': 'deadline_exceeded' });
  });
});
