import { randomBytes } from 'node:crypto';
import { flight, flightSql, FrameServiceDefinition } from '@svc/proto';
import { createChannel, createClient, Metadata } from 'nice-grpc';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer, callersFileOf, createCaller, type TestCaller } from './callers.ts';
import { pathOf, queryOf } from './flight-client.ts';
import { type ServerProcess, startProcess, testFile } from './server-process.ts';
import { commandOf, packed, prepare } from './ways-in/flight-messages.ts';

const alpha = createCaller('alpha', ['read', 'write']);
const beta = createCaller('beta', ['read', 'write']);
const writer = createCaller('alpha', ['write']);

let server: ServerProcess;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  const file = testFile('callers.toml', callersFileOf({ alpha, beta, writer }));
  server = await startProcess({ env: { SERVICE_AUTH_CALLERS_FILE: file }, onEnd: (end) => void ends.push(end) });
  // The same handle twice, and one that only alpha has.
  await put(alpha, 'common', [{ owner: 'alpha' }]);
  await put(beta, 'common', [{ owner: 'beta' }, { owner: 'beta' }]);
  await put(alpha, 'secret', [{ owner: 'alpha' }]);
});

afterAll(async () => {
  for (const end of ends) await end();
});

const authorization = ({ token }: TestCaller) => ({ authorization: bearer(token) });
const ask = (caller: TestCaller, path: string, init: RequestInit = {}) =>
  server.fetch(path, { ...init, headers: { ...init.headers, ...authorization(caller) } });

async function put(caller: TestCaller, handle: string, rows: readonly unknown[]): Promise<void> {
  expect((await server.put(handle, rows, { headers: authorization(caller) })).status).toBe(201);
}

/** The status, the headers and the body of a response, without what differs from request to request. */
async function seen(response: Response, handle: string) {
  const { date: _date, 'x-request-id': requestId = '', ...headers } = Object.fromEntries(response.headers);
  const text = await response.text();
  return { status: response.status, headers, text: text.replaceAll(requestId, 'ID').replaceAll(handle, 'HANDLE') };
}

describe('the same handle of two tenants is two frames', () => {
  test('over HTTP, also from the cache of responses', async () => {
    for (const _ of [1, 2, 3]) {
      const [one, other] = await Promise.all(
        [alpha, beta].map((caller) => ask(caller, '/exec?handle=common&fmt=json')),
      );
      expect(await one.json()).toMatchObject({ dataset: [['alpha']], count: 1 });
      expect(await other.json()).toMatchObject({ dataset: [['beta'], ['beta']], count: 2 });
      expect([one, other].map(({ headers }) => headers.get('x-total-count'))).toEqual(['1', '2']);
    }
  });

  test('in SQL', async () => {
    const sql = '/exec?engine=local&fmt=json&query=select distinct owner from common';
    expect(await (await ask(alpha, sql)).json()).toMatchObject({ dataset: [['alpha']] });
    expect(await (await ask(beta, sql)).json()).toMatchObject({ dataset: [['beta']] });
  });
});

describe("another tenant's handle is exactly an unknown one", () => {
  const JSON_TYPE = { 'content-type': 'application/json' };
  const RANGE = { headers: { range: 'bytes=0-3' } };

  test.each<[method: string, path: string, status: number, init?: RequestInit]>([
    ['GET', '/exec?fmt=json&handle=HANDLE', 404],
    ['HEAD', '/exec?fmt=json&handle=HANDLE', 404],
    ['GET', '/exec?fmt=json&handle=HANDLE&timings=true', 404],
    ['GET', '/exec?fmt=json&handle=HANDLE&limit=999999', 404],
    ['GET', '/exec?fmt=json&handle=HANDLE&cols=none', 404],
    ['GET', '/exp?fmt=csv&handle=HANDLE', 404],
    ['GET', '/exp?fmt=parquet&handle=HANDLE', 404],
    ['GET', '/files/HANDLE.parquet', 404],
    ['GET', '/files/HANDLE.parquet', 404, RANGE],
    ['HEAD', '/files/HANDLE.csv', 404],
    ['GET', '/files/HANDLE.ndjson', 404, RANGE],
    ['GET', '/frames/HANDLE', 404],
    ['HEAD', '/frames/HANDLE', 404],
    ['DELETE', '/frames/HANDLE', 404],
    ['PATCH', '/frames/HANDLE', 404, { body: '{"ttl":1}' }],
    ['PATCH', '/frames/HANDLE', 404, { body: '{"handle":"renamed"}' }],
    ['GET', '/frames?prefix=HANDLE', 200],
    ['PUT', '/frames/HANDLE', 409, { body: '[{"id":1}]', headers: { ...JSON_TYPE, 'if-match': '*' } }],
    ['POST', '/frames/HANDLE', 409, { body: '[{"id":1}]', headers: { ...JSON_TYPE, 'if-match': '*' } }],
    ['POST', '/frames', 400, { body: '{"sql":"select * from HANDLE"}', headers: JSON_TYPE }],
    ['GET', '/exec?fmt=json&engine=local&query=describe HANDLE', 400],
    ['GET', '/exec?fmt=json&engine=local&query=explain select * from HANDLE', 400],
    ['GET', '/exp?fmt=csv&engine=local&query=select * from HANDLE', 400],
  ])('for %s %s (%i)', async (method, path, status, init = {}) => {
    const send = async (handle: string) => {
      const body = typeof init.body === 'string' ? init.body.replace('HANDLE', handle) : undefined;
      const response = await ask(beta, path.replace('HANDLE', handle), { ...init, method, ...(body && { body }) });
      return seen(response, handle);
    };
    const known = await send('secret');
    expect(known).toEqual(await send('absent'));
    expect(known.status).toBe(status);
  });

  test('for its version as a condition', async () => {
    const etag = (await ask(alpha, '/frames/secret')).headers.get('etag') ?? '';
    const replace = (handle: string) =>
      ask(beta, `/frames/${handle}`, {
        method: 'PUT',
        body: '[{"id":1}]',
        headers: { ...JSON_TYPE, 'if-match': etag },
      });
    const known = await seen(await replace('secret'), 'secret');
    expect(known).toEqual(await seen(await replace('absent'), 'absent'));
    expect(known.status).toBe(409);
  });

  test('for its etag', async () => {
    const etag = (await ask(alpha, '/frames/secret')).headers.get('etag') ?? '';
    const headers = { 'if-none-match': etag };
    const known = await seen(await ask(beta, '/exec?handle=secret&fmt=json', { headers }), 'secret');
    expect(known).toEqual(await seen(await ask(beta, '/exec?handle=absent&fmt=json', { headers }), 'absent'));
  });

  test('in SQL, its suggestions and its catalogue', async () => {
    const sql = (text: string) => ask(beta, `/exec?engine=local&fmt=json&query=${encodeURIComponent(text)}`);
    const known = await seen(await sql('select * from secret'), 'secret');
    expect(known).toEqual(await seen(await sql('select * from absent'), 'absent'));
    expect(await (await sql('select * from secre')).text()).not.toContain('secret');
    expect(await (await sql('show tables')).json()).toMatchObject({ dataset: [['common']] });
    expect((await sql("from read_parquet('../alpha/*.parquet')")).status).toBe(403);
  });

  test('in lists', async () => {
    const { frames } = (await (await ask(beta, '/frames')).json()) as { frames: { handle: string }[] };
    expect(frames.map(({ handle }) => handle)).toEqual(['common']);
  });

  test('for a put: it creates a frame', async () => {
    await put(beta, 'SECRET', [{ owner: 'beta' }]);
    expect((await ask(beta, '/frames/SECRET', { method: 'DELETE' })).status).toBe(204);
    expect((await ask(alpha, '/frames/secret')).status).toBe(200);
  });
});

describe('over gRPC', () => {
  async function connect() {
    const channel = createChannel(server.grpcAddress);
    const client = createClient(flight.FlightServiceDefinition, channel);
    const as = (caller: TestCaller) => ({ metadata: Metadata(authorization(caller)) });
    const read = async (caller: TestCaller, ticket: Uint8Array): Promise<string> => {
      try {
        for await (const _ of client.doGet({ ticket }, as(caller)));
        return 'ok';
      } catch (error) {
        return error instanceof Error ? error.message : '';
      }
    };
    return { channel, client, as, read };
  }

  const FORGED = 'The ticket was not issued to you by this server, or has expired.';

  test.each([
    ['a frame', pathOf('secret')],
    ['a query', queryOf('select * from secret')],
  ])('the ticket of %s is a forged one for another tenant', async (_what, descriptor) => {
    const { channel, client, as, read } = await connect();
    const { endpoint } = await client.getFlightInfo(descriptor, as(alpha));
    const ticket = endpoint[0]?.ticket?.ticket ?? new Uint8Array(0);
    expect(await read(beta, ticket)).toContain(FORGED);
    expect(await read(writer, ticket)).toContain('The caller lacks the permission read.');
    expect(await read(alpha, ticket)).toBe('ok');
    channel.close();
  });

  test('the prepared statement of a tenant does not exist for another one, which cannot close it either', async () => {
    const { channel, client, as } = await connect();
    const handle = await prepare(client, 'select * from secret', as(alpha));
    const statement = flightSql.CommandPreparedStatementQuery.encode({ preparedStatementHandle: handle }).finish();
    const unknown = flightSql.CommandPreparedStatementQuery.encode({
      preparedStatementHandle: randomBytes(16),
    }).finish();
    const failed = (caller: TestCaller, message: Uint8Array) =>
      client.getFlightInfo(commandOf('CommandPreparedStatementQuery', message), as(caller)).then(
        () => 'found',
        (error: Error) => error.message,
      );
    expect(await failed(beta, statement)).toBe(await failed(beta, unknown));
    const request = flightSql.ActionClosePreparedStatementRequest.encode({ preparedStatementHandle: handle }).finish();
    const body = packed('ActionClosePreparedStatementRequest', request);
    for await (const _ of client.doAction({ type: 'ClosePreparedStatement', body }, as(beta)));
    expect(await failed(alpha, statement)).toBe('found');
    channel.close();
  });

  test('a tenant cannot cancel the query of another one, nor see that it runs', async () => {
    const { channel, client, as, read } = await connect();
    const info = await client.getFlightInfo(queryOf('select * from secret'), as(alpha));
    const cancel = async (of: flight.FlightInfo) => {
      const body = flight.CancelFlightInfoRequest.encode({ info: of }).finish();
      const results: number[] = [];
      for await (const { body: result } of client.doAction({ type: 'CancelFlightInfo', body }, as(beta))) {
        results.push(flight.CancelFlightInfoResult.decode(result).status);
      }
      return results;
    };
    const made = { ...info, endpoint: [flight.FlightEndpoint.fromPartial({ ticket: { ticket: randomBytes(60) } })] };
    expect(await cancel(info)).toEqual(await cancel(made));
    expect(await read(alpha, info.endpoint[0]?.ticket?.ticket ?? new Uint8Array(0))).toBe('ok');
    channel.close();
  });

  test('lists, tables and descriptions show only the frames of the tenant', async () => {
    const { channel, client, as } = await connect();
    const frames = createClient(FrameServiceDefinition, channel);
    const listed = await frames.listFrames({}, as(beta));
    expect(listed.frames.map(({ handle }) => handle)).toEqual(['common']);
    const flights: string[] = [];
    for await (const { flightDescriptor } of client.listFlights({}, as(beta)))
      flights.push(...(flightDescriptor?.path ?? []));
    expect(flights).toEqual(['common']);
    const failed = (handle: string) =>
      frames.describeFrame({ handle }, as(beta)).then(
        () => 'found',
        (error: Error) => error.message.replaceAll(handle, 'HANDLE'),
      );
    expect(await failed('secret')).toBe(await failed('absent'));
    channel.close();
  });

  test('a handshake returns the token of the client, by metadata or by message', async () => {
    const { channel, client } = await connect();
    const shake = async (metadata: Metadata, payload: Uint8Array): Promise<string> => {
      let header = '';
      async function* hello() {
        yield { payload };
      }
      const onHeader = (sent: Metadata): void => void (header = sent.get('authorization') ?? '');
      for await (const _ of client.handshake(hello(), { metadata, onHeader }));
      return header;
    };
    const basicHeader = `Basic ${Buffer.from(`ada:${alpha.token}`).toString('base64')}`;
    const message = flight.BasicAuth.encode({ username: 'ada', password: alpha.token }).finish();
    expect(await shake(Metadata({ authorization: basicHeader }), new Uint8Array(0))).toBe(bearer(alpha.token));
    expect(await shake(Metadata(), message)).toBe(bearer(alpha.token));
    // In Basic credentials, a colon ends the user.
    const colon = flight.BasicAuth.encode({ username: 'urn:ada', password: alpha.token }).finish();
    expect(await shake(Metadata(), colon)).toBe(bearer(alpha.token));
    const wrong = flight.BasicAuth.encode({ username: 'ada', password: 'wrong' }).finish();
    await expect(shake(Metadata(), wrong)).rejects.toThrow('UNAUTHENTICATED');
    await expect(shake(Metadata(), Buffer.from('nonsense'))).rejects.toThrow('UNAUTHENTICATED');
    const binary = Metadata();
    binary.set('auth-token-bin', Buffer.from(alpha.token));
    await expect(client.getFlightInfo(pathOf('secret'), { metadata: binary })).resolves.toMatchObject({
      totalRecords: 1n,
    });
    channel.close();
  });
});
