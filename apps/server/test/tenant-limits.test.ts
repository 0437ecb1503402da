import { PERMISSIONS } from '@svc/auth';
import { flight } from '@svc/proto';
import { createClient, Metadata } from 'nice-grpc';
import { renameSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { bearer, callersFileOf, createCaller, type TestCaller } from './callers.ts';
import { queryOf } from './flight-client.ts';
import { type ServerProcess, startProcess, testFile } from './server-process.ts';
import { nameOf, type Target, type Way } from './ways-in/way.ts';
import { isPreparation, openTarget, SAMPLE } from './ways-in/ways.ts';

/** Tenants, and their limits. */
const LIMITS = {
  slow: 'requests_per_second = 0.001',
  'no-sql': 'max_queries = 0',
  'one-query': 'max_queries = 1',
  'one-frame': 'max_frames = 1',
  small: 'max_bytes = 10000',
  free: '',
  changing: 'requests_per_second = 0.001',
} as const;
const callers = Object.fromEntries(
  Object.keys(LIMITS).map((tenant) => [tenant, createCaller(tenant, PERMISSIONS)]),
) as Record<keyof typeof LIMITS, TestCaller>;
const as = (tenant: keyof typeof LIMITS): string => bearer(callers[tenant].token);

function fileWith(limits: Readonly<Record<string, string>>): string {
  const tenants = Object.entries(limits).map(([name, lines]) => `[[tenant]]\nname = "${name}"\n${lines}\n`);
  return `${callersFileOf(callers)}\n${tenants.join('\n')}`;
}

let server: ServerProcess;
let target: Target;
let callersFile: string;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  callersFile = testFile('callers.toml', fileWith(LIMITS));
  server = await startProcess({
    env: { SERVICE_AUTH_CALLERS_FILE: callersFile },
    onEnd: (end) => void ends.push(end),
  });
  for (const tenant of ['no-sql', 'one-query', 'one-frame'] as const) {
    const put = await server.put('shown', [{ id: 1 }], { headers: { authorization: as(tenant) } });
    expect(put.status).toBe(201);
  }
  target = await openTarget(server, as('free'));
});

afterAll(async () => {
  target.channel.close();
  for (const end of ends) await end();
});

const list = (tenant: keyof typeof LIMITS) => server.fetch('/frames', { headers: { authorization: as(tenant) } });

/** The rows that need no ticket or statement of the tenant. Preparing a statement does not run it. */
const OWN = SAMPLE.filter((way) => way.elsewhere !== 'invalid_argument' && !isPreparation(way));

async function outcomesOf(tenant: keyof typeof LIMITS): Promise<[name: string, outcome: string][]> {
  return Promise.all(OWN.map(async (way) => [nameOf(way), await way.send(target, as(tenant))]));
}

const expected = (outcomeOf: (way: Way) => string) => OWN.map((way) => [nameOf(way), outcomeOf(way)]);

describe('requests_per_second', () => {
  test('a tenant over its rate is refused on every way in, and others are not', { tags: ['slow'] }, async () => {
    expect((await list('slow')).status).toBe(200);
    expect(await outcomesOf('slow')).toEqual(
      expected(({ access, allowed = 'ok' }) => (access === 'open' ? allowed : 'too_many_requests')),
    );
    for (const way of OWN) expect(await way.send(target, as('free')), nameOf(way)).toBe(way.allowed ?? 'ok');
  });

  test('the refusal names the limit, and Retry-After says when the next request passes', async () => {
    await list('slow');
    const refused = await list('slow');
    expect([refused.status, await refused.json()]).toMatchObject([
      429,
      { error: 'The tenant "slow" sends more than its limit of 0.001 requests per second (requests_per_second).' },
    ]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(900);
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(1000);
  });

  test('a handshake with the token in its message counts, too', async () => {
    await list('slow');
    const client = createClient(flight.FlightServiceDefinition, target.channel);
    const payload = flight.BasicAuth.encode({ username: 'any', password: callers.slow.token }).finish();
    async function* request() {
      yield { protocolVersion: 0n, payload };
    }
    const answers = client.handshake(request())[Symbol.asyncIterator]();
    await expect(answers.next()).rejects.toThrow('requests per second');
  });

  test('health checks need no caller, and pass', async () => {
    await list('slow');
    for (const path of ['/ping', '/ready', '/health']) expect((await server.fetch(path)).status).toBe(200);
  });
});

describe('max_queries', () => {
  const isSql = ({ operation, target: at = 'local' }: Way): boolean =>
    at === 'local' && (operation === 'query' || operation === 'keepQuery');

  test('of 0 refuses SQL on every way in, and nothing else', async () => {
    expect(await outcomesOf('no-sql')).toEqual(
      expected((way) => (isSql(way) ? 'too_many_requests' : (way.allowed ?? 'ok'))),
    );
  });

  test(
    'a result that is not fetched yet counts as running, on every way in, until it is read',
    { tags: ['slow'] },
    async () => {
      const client = createClient(flight.FlightServiceDefinition, target.channel);
      const options = { metadata: Metadata({ authorization: as('one-query') }) };
      /** Does something while a result is not fetched, and again if that took longer than the server keeps a result. */
      async function whileUnfetched<T>(act: () => Promise<T>): Promise<T> {
        const start = performance.now();
        const { endpoint } = await client.getFlightInfo(queryOf('select 1'), options);
        const outcome = await act();
        const isKept = performance.now() - start < 1000;
        for await (const _ of client.doGet({ ticket: endpoint[0]?.ticket?.ticket ?? new Uint8Array(0) }, options));
        return isKept ? outcome : whileUnfetched(act);
      }

      for (const way of OWN.filter(isSql)) {
        const outcome = await whileUnfetched(() => way.send(target, as('one-query')));
        expect(outcome, nameOf(way)).toBe('too_many_requests');
      }
      const headers = { authorization: as('one-query') };
      const ask = () => server.fetch('/exec?query=select 1&engine=local&fmt=json', { headers });
      const refused = await whileUnfetched(ask);
      expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toMatchObject([
        429,
        '1',
        { error: 'The tenant "one-query" runs as many queries as its limit of 1 allows (max_queries).' },
      ]);
      expect((await ask()).status).toBe(200);
    },
  );
});

describe('max_frames and max_bytes', () => {
  // A write to a frame that must exist makes no new one.
  const isNewFrame = ({ operation, allowed, target: at = 'local' }: Way): boolean =>
    at === 'local' &&
    allowed !== 'handle_not_found' &&
    ['putFrame', 'appendFrame', 'keepQuery', 'writeLines'].includes(operation ?? '');

  test('one frame more is refused on every way in, and nothing else is', { tags: ['slow'] }, async () => {
    expect(await outcomesOf('one-frame')).toEqual(
      expected((way) => (isNewFrame(way) ? 'quota_exceeded' : (way.allowed ?? 'ok'))),
    );
    const { frames } = (await (await list('one-frame')).json()) as { frames: { handle: string }[] };
    expect(frames.map(({ handle }) => handle)).toEqual(['shown']);
  });

  test('the refusal is 507, and names the limit and its figure', async () => {
    const put = await server.put('more', [{ id: 1 }], { headers: { authorization: as('one-frame') } });
    expect([put.status, await put.json()]).toMatchObject([
      507,
      { code: 'quota_exceeded', error: 'The tenant "one-frame" may have 1 frames (max_frames), and has 1.' },
    ]);
  });

  test('a body that says it is too long is refused without 100 Continue', async () => {
    const head = [
      'PUT /frames/long?fmt=csv HTTP/1.1',
      'host: localhost',
      `authorization: ${as('small')}`,
      'content-length: 100000000',
      'expect: 100-continue',
    ];
    const socket = connect(server.port, '127.0.0.1', () => socket.write(`${head.join('\r\n')}\r\n\r\n`));
    onTestFinished(() => void socket.destroy());
    let answer = '';
    for await (const chunk of socket.setEncoding('latin1')) {
      answer += String(chunk);
      if (answer.includes('"requestId"')) break;
    }
    expect(answer).toMatch(/^HTTP\/1\.1 507 /);
    expect(answer).toContain('The uploads in progress of the tenant \\"small\\" may have 67108864 bytes (max_bytes)');
  });

  test('concurrent puts over HTTP do not exceed max_bytes', async () => {
    const rows = Array.from({ length: 500 }, () => ({ x: Math.random() }));
    const headers = { authorization: as('small') };
    const puts = await Promise.all(Array.from({ length: 8 }, (_, i) => server.put(`p${i}`, rows, { headers })));
    const { frames } = (await (await list('small')).json()) as { frames: { bytes: number }[] };
    expect(new Set(puts.map(({ status }) => status))).toEqual(new Set([201, 507]));
    expect(frames).toHaveLength(puts.filter(({ status }) => status === 201).length);
    expect(frames.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(10_000);
  });
});

test('changed limits take effect without a restart', { tags: ['slow'] }, async () => {
  expect((await list('changing')).status).toBe(200);
  expect((await list('changing')).status).toBe(429);
  writeFileSync(`${callersFile}.new`, fileWith({ ...LIMITS, changing: 'requests_per_second = 1000' }));
  renameSync(`${callersFile}.new`, callersFile);
  await expect.poll(async () => (await list('changing')).status, { timeout: 5000, interval: 100 }).toBe(200);
});
