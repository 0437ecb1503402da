// Spans of real requests, as a collector receives them.
import { FrameServiceDefinition } from '@svc/proto';
import { createChannel, createClient, Metadata } from 'nice-grpc';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createTestAuthority } from '../../../tools/test-certificates.js';
import { type Collector, type ReceivedSpan, startCollector } from './collector.ts';
import { runToEnd, type ServerProcess, startProcess, testFile } from './server-process.ts';
import { closedPort, startTcpUpstream, startUpstream } from './upstream.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CLIENT_SPAN = '00f067aa0ba902b7';
const SAMPLED = { traceparent: `00-${TRACE}-${CLIENT_SPAN}-01` };
const KIND = { internal: 1, server: 2, client: 3 } as const;

function startTraced(url: string, env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
  const args = ['--log-level', 'debug'];
  return startProcess({ args, env: { SERVICE_TRACES_OTLP_URL: url, SERVICE_TRACES_SAMPLE: '0', ...env } });
}

/** Stops a server, which sends the spans that are left. */
async function stop(server: ServerProcess): Promise<void> {
  server.child.kill('SIGTERM');
  expect(await server.exited).toEqual({ code: 0, signal: null });
}

/** A trace as a tree of names: each span with those that it caused, sorted. */
type Tree = readonly [name: string, ...children: Tree[]];

function treeOf(spans: readonly ReceivedSpan[], parent: string | undefined): Tree[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .map((span): Tree => [span.name, ...treeOf(spans, span.spanId)])
    .toSorted((a, b) => (String(a) < String(b) ? -1 : 1));
}

function named({ spans }: Collector, name: string): ReceivedSpan {
  const [span, ...others] = spans.filter((one) => one.name === name);
  if (span === undefined || others.length > 0) throw new Error(`There are ${others.length} other spans ${name}.`);
  return span;
}

describe('the trace of a request', () => {
  test('has its statement, and the database continues it', { tags: ['slow'] }, async () => {
    const collector = await startCollector();
    const upstream = await startUpstream((_request, response) => response.end('{"dataset":[]}'));
    const server = await startTraced(collector.url, { SERVICE_TSDB_HTTP_URL: upstream.url });
    const path = "/exec?fmt=json&query=select 'secret' from t";
    const response = await server.fetch(path, { headers: { ...SAMPLED, tracestate: 'a=1', 'x-request-id': 'r-7' } });
    await response.text();
    await stop(server);
    const request = named(collector, 'GET /exec');
    const forward = named(collector, 'forward tsdb');
    const query = named(collector, 'query tsdb');
    expect(request).toMatchObject({
      traceId: TRACE,
      parentSpanId: CLIENT_SPAN,
      kind: KIND.server,
      status: {},
      attributes: {
        'http.request.method': 'GET',
        'http.route': '/exec',
        'http.response.status_code': 200,
        'http.response.body.size': 14,
        'svc.request_id': 'r-7',
      },
    });
    expect(query).toMatchObject({ traceId: TRACE, parentSpanId: request.spanId, kind: KIND.internal });
    expect(forward).toMatchObject({ traceId: TRACE, parentSpanId: query.spanId, kind: KIND.client });
    const { traceparent, tracestate } = upstream.requests[0]?.headers ?? {};
    expect([traceparent, tracestate]).toEqual([`00-${TRACE}-${forward.spanId}-01`, 'a=1']);
    expect(collector.bodies.join('')).not.toMatch(/secret|select/);
  });

  test('goes through another server over Flight SQL', { tags: ['slow'] }, async () => {
    const collector = await startCollector();
    const back = await startTraced(collector.url, { OTEL_SERVICE_NAME: 'back' });
    const front = await startTraced(collector.url, { SERVICE_SCHEDULER_URL: `grpc://${back.grpcAddress}` });
    await back.put('hidden-handle', [{ id: 1 }, { id: 2 }]);
    const path = '/exec?fmt=json&engine=scheduler&query=select count(*) as n from "hidden-handle"';
    const response = await front.fetch(path, { headers: SAMPLED });
    expect(await response.json()).toMatchObject({ dataset: [[2]] });
    await stop(front);
    await stop(back);
    expect(new Set(collector.spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]));
    const query = named(collector, 'query scheduler');
    const get = named(collector, 'arrow.flight.protocol.FlightService/DoGet');
    expect(get).toMatchObject({
      parentSpanId: query.spanId,
      kind: KIND.server,
      attributes: { 'rpc.system': 'grpc', 'rpc.method': 'DoGet', 'rpc.grpc.status_code': 0 },
    });
    expect(named(collector, 'GET /exec')).toMatchObject({ parentSpanId: CLIENT_SPAN });
    expect(collector.bodies.join('')).not.toMatch(/hidden-handle/);
  });

  test('has the steps of SQL over frames, a read and an upload, inside of the request', async () => {
    const collector = await startCollector();
    const server = await startTraced(collector.url);
    await server.put('t', [{ id: 1 }], { headers: SAMPLED });
    await (await server.fetch('/exec?fmt=json&handle=t', { headers: SAMPLED })).text();
    await (await server.fetch('/exec?fmt=json&engine=local&query=from t', { headers: SAMPLED })).text();
    await stop(server);
    const { spans } = collector;
    // Whether a process was ready before the statement came is a matter of time.
    const steps = spans.filter(({ name }) => name !== 'start');
    const inEngine: Tree[] = [['duckdb check'], ['duckdb prepare'], ['duckdb rows', ['execute'], ['fetch']]];
    expect(treeOf(steps, CLIENT_SPAN)).toEqual([
      ['GET /exec', ['query local', ...inEngine, ['execute'], ['send']]],
      ['GET /exec', ['read frame']],
      ['PUT /frames/{handle}', ['duckdb write'], ['put frame', ['receive'], ['write']]],
    ]);
    const byId = new Map(spans.map((span) => [span.spanId, span]));
    for (const span of spans) {
      const parent = byId.get(span.parentSpanId ?? '');
      expect(BigInt(span.startTimeUnixNano)).toBeLessThanOrEqual(BigInt(span.endTimeUnixNano));
      if (parent === undefined) continue;
      expect(BigInt(span.startTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(parent.startTimeUnixNano));
    }
    expect(named(collector, 'query local').attributes).toMatchObject({
      'svc.engine': 'local',
      'db.system.name': 'duckdb',
      'svc.outcome': 'ok',
      'svc.rows': 1,
    });
    const rows = named(collector, 'duckdb rows');
    expect(rows.attributes).toMatchObject({ 'svc.batches': 1, 'svc.bytes': expect.any(Number) });
    expect(rows.attributes['process.pid']).not.toBe(server.child.pid);
  });

  test('of a gRPC call comes in its metadata', async () => {
    const collector = await startCollector();
    const server = await startTraced(collector.url);
    const channel = createChannel(server.grpcAddress);
    onTestFinished(() => channel.close());
    const client = createClient(FrameServiceDefinition, channel);
    await client.listFrames({}, { metadata: Metadata(SAMPLED) });
    await expect(client.describeFrame({ handle: 'nope' }, { metadata: Metadata(SAMPLED) })).rejects.toThrow('nope');
    await stop(server);
    expect(collector.spans).toMatchObject([
      { name: 'svc.frames.v1.FrameService/ListFrames', parentSpanId: CLIENT_SPAN, kind: KIND.server, status: {} },
      {
        name: 'svc.frames.v1.FrameService/DescribeFrame',
        // A mistake of the client is no failure of the server.
        status: {},
        attributes: { 'error.type': 'handle_not_found', 'rpc.grpc.status_code': 5 },
      },
    ]);
  });

  test('shows a failure of the database at every span that it failed', { tags: ['slow'] }, async () => {
    const collector = await startCollector();
    const server = await startTraced(collector.url, { SERVICE_TSDB_HTTP_URL: await closedPort() });
    expect((await server.fetch('/exec?fmt=json&query=select 1', { headers: SAMPLED })).status).toBe(502);
    await stop(server);
    const failed = collector.spans.filter(({ status }) => status.code === 2);
    expect(new Map(failed.map(({ name, status }) => [name, status.message]))).toEqual(
      new Map([
        ['GET /exec', 'tsdb_failed'],
        ['forward tsdb', 'tsdb_failed'],
        ['query tsdb', 'tsdb_failed'],
      ]),
    );
  });
});

test('requests that are not sampled have no spans', async () => {
  const collector = await startCollector();
  const server = await startTraced(collector.url);
  const malformed = { traceparent: `00-${TRACE}-${CLIENT_SPAN}` };
  const notSampled = { traceparent: `00-${TRACE}-${CLIENT_SPAN}-00` };
  for (const headers of [{}, malformed, notSampled]) {
    expect((await server.fetch('/ping', { headers })).status).toBe(200);
  }
  await stop(server);
  expect(collector.bodies).toEqual([]);
});

test('all log lines of a request have its trace, with or without a collector', { tags: ['slow'] }, async () => {
  const upstream = await startUpstream((_request, response) => response.destroy());
  const server = await startProcess({
    args: ['--log-level', 'debug'],
    env: { SERVICE_TSDB_HTTP_URL: upstream.url, SERVICE_LOGGING_ACCESS: 'all' },
  });
  const headers = { ...SAMPLED, 'x-request-id': 'r-7' };
  expect((await server.fetch('/exec?fmt=json&query=select 1', { headers })).status).toBe(502);
  await server.put('t', [{ id: 1 }], { headers: { ...headers, 'content-type': 'application/json' } });
  await (await server.fetch('/exec?fmt=json&engine=local&query=from t', { headers })).text();
  await server.fetch('/frames/t', { method: 'DELETE', headers });
  await server.logged((line) => line.message === 'frame_dropped');
  await stop(server);
  const lines = server.log.filter((line) => line['requestId'] === 'r-7');
  const kinds = ['query_forwarded', 'query_ended', 'frame_put', 'frame_dropped', 'request_answered', 'access'];
  expect(lines.map(({ message }) => message)).toEqual(expect.arrayContaining(kinds));
  expect(new Set(lines.map((line) => line['traceId']))).toEqual(new Set([TRACE]));
  // The spans are those of the client: there is no collector that would know others.
  expect(upstream.requests[0]?.headers['traceparent']).toBe(SAMPLED.traceparent);
});

describe('the requests to the collector', () => {
  test('have the configured headers and attributes, and no header is in the log', async () => {
    const collector = await startCollector();
    const server = await startProcess({
      args: ['--log-level', 'debug'],
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/base/`,
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20s3cret,x-scope=a',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=ignored',
        OTEL_SERVICE_NAME: 'frames',
        SERVICE_TRACES_SAMPLE: '1',
      },
    });
    await server.fetch('/ping');
    await stop(server);
    expect(collector.paths).toEqual(['/base/v1/traces']);
    expect(collector.headers[0]).toMatchObject({
      authorization: 'Bearer s3cret',
      'x-scope': 'a',
      'content-type': 'application/json',
    });
    expect(collector.resource()).toMatchObject({
      'service.name': 'frames',
      'service.version': expect.stringMatching(/^\d/),
      'service.instance.id': expect.stringMatching(/./),
      'deployment.environment.name': 'test',
    });
    expect(JSON.stringify(server.log)).not.toContain('s3cret');
    const { stdout } = await runToEnd(['--print-config'], { OTEL_EXPORTER_OTLP_HEADERS: 'authorization=s3cret' });
    expect(stdout).toContain('otlp_headers');
    expect(stdout).not.toContain('s3cret');
  });

  test('over https need a certificate of a trusted authority', { tags: ['slow'] }, async () => {
    const authority = await createTestAuthority();
    const { cert, key } = await authority.issue(['localhost', '127.0.0.1']);
    const collector = await startCollector(undefined, { cert, key });
    const requested = async (env: Readonly<Record<string, string>>): Promise<readonly unknown[]> => {
      const server = await startTraced(collector.url, env);
      await server.fetch('/ping', { headers: SAMPLED });
      await stop(server);
      return server.log.filter(({ message }) => message.startsWith('Spans')).map((line) => line['reason']);
    };
    expect(await requested({})).toEqual([expect.stringMatching(/^(SELF_SIGNED|UNABLE_TO)/)]);
    expect(collector.bodies).toEqual([]);
    expect(await requested({ SERVICE_TRACES_CA_FILE: testFile('ca.pem', authority.cert) })).toEqual([]);
    expect(collector.spans).toHaveLength(1);
  });

  test.each<[string, () => Promise<string>, string]>([
    ['never answers', () => startTcpUpstream((socket) => void socket.resume()), 'no response in time'],
    ['answers garbage', () => startTcpUpstream((socket) => void socket.end('no HTTP\r\n\r\n')), 'HPE_'],
    [
      'answers without an end',
      () => startTcpUpstream((socket) => void socket.write(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(1e5)}`)),
      'The response is too long.',
    ],
    ['refuses everything', async () => (await startUpstream((_q, s) => s.writeHead(400).end())).url, 'status 400'],
  ])(
    'do not delay requests if the collector %s, and leave one warning',
    { tags: ['slow'] },
    async (_what, start, reason) => {
      await expectNoDelay(await start(), reason);
    },
  );

  test('do not delay requests if the collector is down, and leave one warning', { tags: ['slow'] }, async () => {
    await expectNoDelay(await closedPort(), 'ECONNREFUSED');
  });

  async function expectNoDelay(url: string, reason: string): Promise<void> {
    // Shorter than a collector may take: a stop that waits for it ends late.
    const server = await startTraced(url, { SERVICE_TRACES_SAMPLE: '1', SERVICE_SERVER_SHUTDOWN_GRACE_MS: '3000' });
    for (let count = 0; count < 600; count += 20) {
      const responses = await Promise.all(Array.from({ length: 20 }, () => server.fetch('/ping')));
      for (const { status } of responses) expect(status).toBe(200);
    }
    await stop(server);
    expect(server.log.at(-1)?.message).toBe('stopped');
    const warnings = server.log.filter(({ message }) => message.startsWith('Spans'));
    expect(warnings).toMatchObject([{ level: 'warn', reason: expect.stringContaining(reason) }]);
  }
});
