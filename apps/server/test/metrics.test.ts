import { readFileSync } from 'node:fs';
import { FrameServiceDefinition } from '@svc/proto';
import { createChannel, createClient } from 'nice-grpc';
import { describe, expect, test } from 'vitest';
import { byTier, SLOW } from '../../../test/tier.ts';
import { METRICS } from '../src/metrics/metric-table.ts';
import { bearer, CALLERS, callersFileOf } from './callers.ts';
import { type ServerProcess, sendRaw, startProcess, testFile } from './server-process.ts';
import { closedPort, startUpstream } from './upstream.ts';

/** The samples of a scrape by their name and labels. */
async function scrape({ fetch }: Pick<ServerProcess, 'fetch'>): Promise<Readonly<Record<string, number>>> {
  const lines = (await (await fetch('/metrics')).text()).split('\n');
  const samples = lines.filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(samples.map((line) => [line.replace(/ \S+$/, ''), Number(line.split(' ').at(-1))]));
}

const children = (kind: string): string => `svc_engine_children{kind="${kind}"}`;
const exitsOf = (kind: string, reason: string): string =>
  `svc_engine_child_exits_total{kind="${kind}",reason="${reason}"}`;

function childPids(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
}

describe('GET /metrics', () => {
  test('has every metric of the table once all parts have worked, and no other', async () => {
    const upstream = await startUpstream((_request, response) => response.end('{"count":0}'));
    const server = await startProcess({
      env: { SERVICE_TSDB_HTTP_URL: upstream.url, SERVICE_TRACES_OTLP_URL: upstream.url },
    });
    await server.put('t', [{ id: 1 }]);
    const read = async (): Promise<string> => (await server.fetch('/exec?handle=t&fmt=json')).text();
    // A response is kept when it is requested again.
    for (let count = 0; count < 3; count += 1) await read();
    await server.fetch('/frames/t', { method: 'POST', body: '[{"id":2},{"id":3}]' });
    await read();
    await server.fetch('/exec?query=select%201&engine=local&fmt=json');
    await server.fetch('/exec?query=x&fmt=json');
    const found = new Set(Object.keys(await scrape(server)).map((name) => name.replace(/\{.*/, '')));
    const families = [...found].map((name) => name.replace(/_(bucket|sum|count)$/, ''));
    expect([...new Set(families)].toSorted()).toEqual(Object.keys(METRICS).toSorted());
    expect(await scrape(server)).toMatchObject({
      'svc_frame_writes_total{kind="put"}': 1,
      'svc_frame_rows_written_total{kind="append"}': 2,
      'svc_frames{tier="disk"}': 1,
      'svc_cache_reads_total{cache="answers",result="hit"}': 1,
      'svc_cache_reads_total{cache="answers",result="miss"}': 3,
      'svc_cache_reads_total{cache="hot",result="hit"}': 2,
      'svc_cache_reads_total{cache="hot",result="miss"}': 1,
      'svc_queries_total{engine="local",outcome="ok"}': 1,
      'svc_queries_total{engine="tsdb",outcome="ok"}': 1,
      'svc_tsdb_requests_total{outcome="ok"}': 1,
      svc_tsdb_up: 1,
      svc_tsdb_connections: 1,
      svc_ready: 1,
      // The scrape itself.
      'svc_requests_in_flight{protocol="http"}': 1,
      'svc_engine_children{kind="files"}': 1,
    });
  });

  test('counts each request once, whatever way it ends', async () => {
    const server = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: await closedPort() } });
    await server.put(
      'lengthy',
      Array.from({ length: 100_000 }, (_, id) => ({ id, text: 'x'.repeat(100) })),
    );
    const abort = new AbortController();
    const response = await server.fetch('/exec?handle=lengthy&fmt=json&limit=100000', { signal: abort.signal });
    await response.body?.getReader().read();
    abort.abort();
    for (const path of [
      '/nope/1',
      '/nope/2',
      '/exec?handle=absent&fmt=json',
      '/exec?fmt=json',
      '/exec?query=x&fmt=json',
    ]) {
      await server.fetch(path);
    }
    await server.fetch('/frames', { method: 'DELETE' });
    await sendRaw(server.port, 'nonsense\r\n\r\n');
    const client = createClient(FrameServiceDefinition, createChannel(server.grpcAddress));
    await expect(client.describeFrame({ handle: 'absent' })).rejects.toThrow('absent');
    const labels = (route: string, method: string, status: number, code: string): string =>
      `svc_requests_total{protocol="http",route="${route}",method="${method}",status="${status}",code="${code}"}`;
    await expect.poll(async () => scrape(server)).toMatchObject({ [labels('/exec', 'GET', 200, 'cancelled')]: 1 });
    const samples = await scrape(server);
    expect(samples).toMatchObject({
      [labels('/frames/{handle}', 'PUT', 201, 'ok')]: 1,
      [labels('other', 'other', 404, 'route_not_found')]: 2,
      [labels('/exec', 'GET', 404, 'handle_not_found')]: 1,
      [labels('/exec', 'GET', 400, 'invalid_argument')]: 1,
      [labels('/exec', 'GET', 502, 'tsdb_failed')]: 1,
      [labels('/frames', 'other', 405, 'method_not_allowed')]: 1,
      [labels('other', 'other', 400, 'invalid_argument')]: 1,
      [`svc_requests_total{protocol="grpc",route="svc.frames.v1.FrameService/DescribeFrame",method="POST",status="NOT_FOUND",code="handle_not_found"}`]: 1,
      'svc_queries_total{engine="tsdb",outcome="error"}': 1,
      svc_tsdb_up: 0,
      'svc_connections{protocol="grpc"}': 1,
      'svc_requests_in_flight{protocol="http"}': 1,
      'svc_requests_in_flight{protocol="grpc"}': 0,
    });
    expect(JSON.stringify(samples)).not.toMatch(/nope|absent|lengthy/);
  });

  test('counts frames that expire, and processes of the engine that crash', { tags: ['slow'] }, async () => {
    const server = await startProcess();
    await server.put('t', [{ id: 1 }], { query: '?ttl=1' });
    await expect.poll(async () => scrape(server), { timeout: 10_000 }).toMatchObject({ svc_frames_expired_total: 1 });
    await expect.poll(async () => scrape(server), { timeout: 10_000 }).toMatchObject({ [children('sql')]: 1 });
    const [first] = childPids(server.child.pid ?? 0);
    process.kill(first ?? 0, 'SIGKILL');
    const exits = (samples: Readonly<Record<string, number>>): number =>
      ['sql', 'files'].reduce((sum, kind) => sum + (samples[exitsOf(kind, 'crashed')] ?? 0), 0);
    await expect.poll(async () => exits(await scrape(server)), { timeout: 10_000 }).toBe(1);
  });

  test('is OpenMetrics for clients that prefer it', async () => {
    const server = await startProcess();
    const response = await server.fetch('/metrics', { headers: { accept: 'application/openmetrics-text' } });
    expect(response.headers.get('content-type')).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    expect(await response.text()).toMatch(/# EOF\n$/);
    const plain = await server.fetch('/metrics');
    expect(plain.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  });

  test('does not exist if metrics.enabled is false', async () => {
    const server = await startProcess({ env: { SERVICE_METRICS_ENABLED: 'false' } });
    expect((await server.fetch('/metrics')).status).toBe(404);
    expect(await (await server.fetch('/')).text()).not.toContain('/metrics');
  });

  test('moves to the listener of metrics.bind_address, which has no other path', async () => {
    const server = await startProcess({ env: { SERVICE_METRICS_BIND_ADDRESS: '127.0.0.1:0' } });
    const ready = await server.logged(({ message }) => message === 'ready');
    const url = String(ready['metrics']);
    expect((await server.fetch('/metrics')).status).toBe(404);
    expect((await fetch(`${url}/metrics`)).status).toBe(200);
    const answers = await Promise.all(['/', '/ping', '/frames'].map(async (path) => (await fetch(url + path)).json()));
    expect(answers).toMatchObject([
      { code: 'route_not_found' },
      { code: 'route_not_found' },
      { code: 'route_not_found' },
    ]);
    server.child.kill('SIGTERM');
    expect(await server.exited).toEqual({ code: 0, signal: null });
  });

  for (const [options, rows] of byTier([
    ['127.0.0.1:0', {}, [200, 200, 403, 403]],
    ['127.0.0.1:0', { SERVICE_HTTP_ALLOWED_HOSTS: 'data.example' }, [200, 200, 200, 403]],
    ['0.0.0.0:0', {}, [200, 200, 200, 200]],
  ])) {
    test.each(rows)('of metrics.bind_address %s with %j checks the Host', options, async (address, env, expected) => {
      const server = await startProcess({ env: { SERVICE_METRICS_BIND_ADDRESS: address, ...env } });
      const ready = await server.logged(({ message }) => message === 'ready');
      const port = Number(new URL(String(ready['metrics'])).port);
      const statusOf = async (host: string): Promise<number> => {
        const head = `GET /metrics HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
        return Number((await sendRaw(port, head)).split(' ', 2)[1]);
      };
      const hosts = [`127.0.0.1:${port}`, 'localhost', 'data.example', 'evil.example'];
      expect(await Promise.all(hosts.map(statusOf))).toEqual(expected);
    });
  }

  test('a metrics.bind_address in use ends the server with 1 and names the setting', async () => {
    const other = await startProcess();
    const address = new URL(other.url).host;
    const starting = startProcess({ env: { SERVICE_METRICS_BIND_ADDRESS: address } });
    await expect(starting).rejects.toThrow(
      `Cannot listen on ${address} (metrics.bind_address): another process listens there`,
    );
  });

  test('has the tenants of callers if metrics.tenant_label is set', SLOW, async () => {
    const file = testFile('callers.toml', callersFileOf(CALLERS));
    const tenants = { SERVICE_METRICS_TENANT_LABEL: 'true', SERVICE_METRICS_MAX_TENANTS: '1' };
    const server = await startProcess({ env: { SERVICE_AUTH_CALLERS_FILE: file, ...tenants } });
    const get = async (path: string, token: string) =>
      (await server.fetch(path, { headers: { authorization: bearer(token) } })).text();
    await get('/frames', CALLERS.read.token);
    await get('/frames', CALLERS.beta.token);
    const text = await get('/metrics', CALLERS.admin.token);
    const labels = 'route="/frames",method="GET",status="200",code="ok"';
    expect(text).toContain(`${labels},tenant="alpha"} 1\n`);
    expect(text).toContain(`${labels},tenant="other"} 1\n`);
  });
});
