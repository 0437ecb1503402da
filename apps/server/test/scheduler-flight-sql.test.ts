import { encodeArrowStream } from '@svc/frames';
import { bytesOf, engineContract, readRows } from '@svc/frames/testing';
import { createSchedulerEngine } from '@svc/scheduler';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createTestAuthority } from '../../../tools/test-certificates.js';
import { CALLERS, callersFileOf } from './callers.ts';
import { type ServerProcess, startProcess, testFile } from './server-process.ts';

// One server runs the SQL of another, over its own frames.

const NO_FRAMES = { pin: async () => undefined, handles: async () => [] };

type EngineOptions = Partial<Parameters<typeof createSchedulerEngine>[0]['cluster']> & {
  readonly maxConcurrent?: number;
};

/** An engine that runs SQL on a server. */
function engineOn({ grpcAddress }: ServerProcess, { maxConcurrent = 2, ...cluster }: EngineOptions = {}) {
  const [host = '', port = ''] = grpcAddress.split(':');
  return createSchedulerEngine({
    cluster: { protocol: 'flight-sql', host, port: Number(port), hasTls: false, ...cluster },
    frames: NO_FRAMES,
    locate: () => undefined,
    maxConcurrent,
  });
}

function callOf(signal = new AbortController().signal) {
  return { tenant: 'default', requestId: 'test', signal };
}

engineContract(
  'another server over Flight SQL',
  async () => {
    const ends: (() => Promise<void>)[] = [];
    const server = await startProcess({ onEnd: (end) => void ends.push(end) });
    const maxConcurrent = 2;
    return {
      engine: engineOn(server, { maxConcurrent }),
      store: {
        async put({ handle }, frame) {
          const body = new Uint8Array(await bytesOf(encodeArrowStream(frame)));
          const { ok } = await server.fetch(`/frames/${handle}?fmt=arrow`, { method: 'PUT', body });
          expect(ok).toBe(true);
        },
        drop: ({ handle }) => server.fetch(`/frames/${handle}`, { method: 'DELETE' }),
      },
      maxConcurrent,
      async close() {
        for (const end of ends) await end();
      },
    };
  },
  { hasTenants: false },
);

const POLL = { timeout: 30_000 };

describe('engine=scheduler with the address of another server', () => {
  const ends: (() => Promise<void>)[] = [];
  const onEnd = (end: () => Promise<void>): void => void ends.push(end);
  let front: ServerProcess;
  let other: ServerProcess;

  beforeAll(async () => {
    other = await startProcess({ args: ['--log-level', 'debug'], onEnd });
    front = await startProcess({ env: { SERVICE_SCHEDULER_URL: `grpc://${other.grpcAddress}` }, onEnd });
    const rows = Array.from({ length: 1000 }, (_, id) => ({
      id,
      name: `n${id}`,
      price: id / 8,
      time: '2024-01-02T03:04:05Z',
    }));
    expect((await other.put('trades', rows)).ok).toBe(true);
  });

  afterAll(async () => {
    for (const end of ends) await end();
  });

  function exec(
    server: ServerProcess,
    engine: string,
    query: string,
    more: Readonly<Record<string, string>> = {},
    init?: RequestInit,
  ) {
    const search = new URLSearchParams({ engine, query, fmt: 'json', ...more });
    return server.fetch(`/exec?${search}`, init);
  }

  test.each([
    'SELECT * FROM trades ORDER BY id LIMIT 10',
    'SELECT id % 2 AS odd, count(*) AS n, sum(price) AS total, max(name) AS last FROM trades GROUP BY 1 ORDER BY 1',
    'SELECT id, CAST(id AS DECIMAL(10, 2)) AS d, time FROM trades WHERE id > 990 ORDER BY id DESC',
    'SELECT id FROM trades WHERE id < 0',
  ])('%s has the columns and rows of the other server', async (sql) => {
    const here = await (await exec(front, 'scheduler', sql)).json();
    const { columns, dataset } = (await (await exec(other, 'local', sql)).json()) as Record<string, unknown>;
    expect(here).toMatchObject({ columns, dataset });
  });

  test('parameters reach the other server', async () => {
    const sql = 'SELECT id FROM trades WHERE name = ? AND price < 1000';
    expect(await (await exec(front, 'scheduler', sql, { param: '"n7"' })).json()).toMatchObject({ dataset: [[7]] });
  });

  test('errors in the SQL have the position in the statement', async () => {
    const response = await exec(front, 'scheduler', "SELECT 'é', nope FROM trades");
    expect([response.status, await response.json()]).toMatchObject([400, { code: 'invalid_sql', position: 12 }]);
  });

  test('a frame that only this server has is 502, and an unknown one 400', async () => {
    expect((await front.put('mine', [{ id: 1 }])).ok).toBe(true);
    const answer = async (sql: string): Promise<unknown> => {
      const response = await exec(front, 'scheduler', sql);
      return [response.status, await response.json()];
    };
    expect(await answer('SELECT * FROM mine')).toMatchObject([
      502,
      { code: 'scheduler_failed', error: 'The scheduler does not see the frame "mine".' },
    ]);
    expect(await answer('SELECT * FROM unknown')).toMatchObject([400, { code: 'invalid_sql' }]);
  });

  test('a long answer arrives complete', async () => {
    const sql = 'SELECT a.id, b.name FROM trades a, trades b WHERE b.id < 200';
    const search = new URLSearchParams({ engine: 'scheduler', query: sql, fmt: 'csv' });
    const text = await (await front.fetch(`/exp?${search}`)).text();
    expect(text.split('\r\n').length).toBe(200_002);
  });

  test('a client that disconnects ends the statement on the other server', async () => {
    const running = async (): Promise<unknown> => (await other.fetch('/queries')).json();
    const controller = new AbortController();
    const sql = 'SELECT sum(a.price * b.price * c.price * d.price) FROM trades a, trades b, trades c, trades d';
    const response = exec(front, 'scheduler', sql, {}, { signal: controller.signal });
    await expect.poll(running, POLL).toMatchObject({ queries: [{ engine: 'local', state: 'running' }] });
    controller.abort();
    await expect(response).rejects.toThrow();
    await expect.poll(running, POLL).toEqual({ queries: [] });
    expect(await (await exec(front, 'scheduler', 'SELECT 1 AS one')).json()).toMatchObject({ dataset: [[1]] });
  });

  test('a server that is away is 502', async () => {
    other.child.kill('SIGKILL');
    await other.exited;
    const response = await exec(front, 'scheduler', 'SELECT 1');
    expect([response.status, await response.json()]).toMatchObject([502, { code: 'scheduler_failed' }]);
  });
});

describe('another server with TLS and tokens', () => {
  const ends: (() => Promise<void>)[] = [];
  let server: ServerProcess;
  let ca: string;

  beforeAll(async () => {
    const authority = await createTestAuthority();
    const { cert, key } = await authority.issue(['127.0.0.1']);
    ca = authority.cert;
    const env = {
      SERVICE_TLS_CERT_FILE: testFile('cert.pem', cert),
      SERVICE_TLS_KEY_FILE: testFile('key.pem', key),
      SERVICE_AUTH_CALLERS_FILE: testFile('callers.toml', callersFileOf(CALLERS)),
    };
    server = await startProcess({ env, onEnd: (end) => void ends.push(end) });
  });

  afterAll(async () => {
    for (const end of ends) await end();
  });

  function query(cluster: EngineOptions) {
    const engine = engineOn(server, cluster);
    onTestFinished(() => engine.close());
    return engine.query(callOf(), 'SELECT 1 AS one', { params: [] });
  }

  test('runs SQL of a caller with the right token and authority', async () => {
    const result = await query({ hasTls: true, ca: Buffer.from(ca), token: CALLERS.read.token });
    expect(await readRows(result)).toEqual([[1]]);
    result.close();
  });

  test.each<[string, (authority: string) => EngineOptions, RegExp]>([
    [
      'a wrong token',
      (trusted) => ({ hasTls: true, ca: Buffer.from(trusted), token: 'svc_wrong' }),
      /refused the credentials/,
    ],
    ['no token', (trusted) => ({ hasTls: true, ca: Buffer.from(trusted) }), /refused the credentials/],
    [
      'a token without the permission',
      (trusted) => ({ hasTls: true, ca: Buffer.from(trusted), token: CALLERS.write.token }),
      /lacks the permission read/,
    ],
    ['an authority that is not trusted', () => ({ hasTls: true, token: CALLERS.read.token }), /cannot be reached/],
    ['no TLS', () => ({ token: CALLERS.read.token }), /cannot be reached|failed/],
  ])('%s is scheduler_failed', async (_what, cluster, message) => {
    const failure = { code: 'scheduler_failed', message: expect.stringMatching(message) };
    await expect(query(cluster(ca))).rejects.toMatchObject(failure);
  });
});
