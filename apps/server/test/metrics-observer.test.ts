import { ERROR_CODES, type ErrorCode, ServiceError } from '@svc/errors';
import { type EventOf, type ServiceEvent, SQL_TARGETS } from '@svc/service';
import { describe, expect, test } from 'vitest';
import { createMetricsObserver } from '../src/metrics/metrics-observer.ts';
import { createRegistry, type Registry } from '../src/metrics/registry.ts';

function createObserved(maxTenants?: number, hasCallers = false) {
  const registry = createRegistry({ hasTenants: maxTenants !== undefined });
  return { registry, observe: createMetricsObserver({ registry, maxTenants, hasCallers }) };
}

/** The samples of metrics by their text up to the value, without those of histograms. */
function samplesOf(registry: Registry, prefix: string): Readonly<Record<string, number>> {
  const lines = [...registry.format('prometheus')].join('').split('\n');
  const found = lines.flatMap((line) => /^([^# ]+(?:\{.*\})?) (\S+)$/.exec(line)?.slice(1, 3).map(String) ?? []);
  const pairs = Array.from(
    { length: found.length / 2 },
    (_, i) => [found[2 * i] ?? '', Number(found[2 * i + 1])] as const,
  );
  return Object.fromEntries(pairs.filter(([name]) => name.startsWith(prefix)));
}

/** The samples that an event changes, with the difference. */
function changesBy(observed: ReturnType<typeof createObserved>, prefix: string, event: ServiceEvent) {
  const before = samplesOf(observed.registry, prefix);
  observed.observe(event);
  const after = Object.entries(samplesOf(observed.registry, prefix));
  return Object.fromEntries(
    after.flatMap(([name, value]) => {
      const difference = value - (before[name] ?? 0);
      return difference === 0 ? [] : [[name, difference]];
    }),
  );
}

const ANSWERED: EventOf<'request_answered'> = {
  kind: 'request_answered',
  requestId: 'r',
  tenant: 'default',
  caller: undefined,
  protocol: 'http',
  route: '/exec',
  method: 'GET',
  status: 200,
  durationMs: 3,
  firstByteMs: 2,
  requestBytes: 5,
  responseBytes: 7,
  rows: 1,
  format: 'json',
  error: undefined,
  details: { operation: 'GET /exec' },
};

const ENDED: EventOf<'query_ended'> = {
  kind: 'query_ended',
  requestId: 'r',
  tenant: 'default',
  engine: 'local',
  outcome: 'ok',
  waitMs: 1,
  executeMs: 1,
  durationMs: 2,
  rows: 1,
  bytes: 1,
  fingerprint: () => 'select ?',
};

describe('a request moves one counter by one', () => {
  const codes = Object.keys(ERROR_CODES) as ErrorCode[];
  const methodOf = (code: ErrorCode): string =>
    ['method_not_allowed', 'route_not_found'].includes(code) ? 'other' : 'GET';

  test.each(codes)('over HTTP, if it fails with %s', (code) => {
    const { http } = ERROR_CODES[code];
    const event = { ...ANSWERED, status: http, error: new ServiceError(code, 'x') };
    const labels = `protocol="http",route="/exec",method="${methodOf(code)}",status="${http}",code="${code}"`;
    expect(changesBy(createObserved(), 'svc_requests_total', event)).toEqual({ [`svc_requests_total{${labels}}`]: 1 });
  });

  test.each(codes)('over gRPC, if it fails with %s', (code) => {
    const { grpc } = ERROR_CODES[code];
    const event = { ...ANSWERED, protocol: 'grpc', route: 'a.B/C', method: 'POST', status: grpc } as const;
    const method = methodOf(code) === 'other' ? 'other' : 'POST';
    const labels = `protocol="grpc",route="a.B/C",method="${method}",status="${grpc}",code="${code}"`;
    const changes = changesBy(createObserved(), 'svc_requests_total', { ...event, error: new ServiceError(code, 'x') });
    expect(changes).toEqual({ [`svc_requests_total{${labels}}`]: 1 });
  });

  test('with its bytes and times, if it succeeds', () => {
    const observed = createObserved();
    observed.observe({ kind: 'request_started', requestId: 'r', protocol: 'http' });
    expect(samplesOf(observed.registry, 'svc_requests_in_flight{protocol="http"}')).toEqual({
      'svc_requests_in_flight{protocol="http"}': 1,
    });
    const changes = changesBy(observed, 'svc_', ANSWERED);
    const route = 'protocol="http",route="/exec"';
    expect(changes).toMatchObject({
      'svc_requests_in_flight{protocol="http"}': -1,
      [`svc_requests_total{${route},method="GET",status="200",code="ok"}`]: 1,
      [`svc_request_duration_seconds_bucket{${route},method="GET",le="0.005"}`]: 1,
      [`svc_request_duration_seconds_sum{${route},method="GET"}`]: 0.003,
      [`svc_first_byte_seconds_bucket{${route},format="json",le="0.0025"}`]: 1,
      [`svc_request_bytes_total{${route},format="json"}`]: 5,
      [`svc_response_bytes_total{${route},format="json"}`]: 7,
    });
    expect(changes).not.toHaveProperty([`svc_request_duration_seconds_bucket{${route},method="GET",le="0.0025"}`]);
  });

  test('also if requests of other labels came before', () => {
    const observed = createObserved();
    const others = [
      ANSWERED,
      { ...ANSWERED, status: 304 },
      { ...ANSWERED, format: 'csv' },
      { ...ANSWERED, method: 'HEAD' },
    ];
    for (const event of [...others, ...others, ANSWERED]) observed.observe(event);
    const counts = Object.values(samplesOf(observed.registry, 'svc_requests_total'));
    expect(counts).toEqual([5, 2, 2]);
  });

  test.each(['BREW', 'get', '', 'a"b\n'])('the method %j is other', (method) => {
    const changes = changesBy(createObserved(), 'svc_requests_total', { ...ANSWERED, method });
    expect(Object.keys(changes).join()).toContain('method="other"');
  });
});

describe('a statement moves one counter by one', () => {
  const outcomes = ['ok', 'cancelled', 'timeout', 'oom', 'error', 'refused'] as const;

  test.each(SQL_TARGETS.flatMap((engine) => outcomes.map((outcome) => [engine, outcome] as const)))(
    'of %s, if it ends with %s',
    (engine, outcome) => {
      const labels = `engine="${engine}",outcome="${outcome}"`;
      const changes = changesBy(createObserved(), 'svc_quer', { ...ENDED, engine, outcome });
      expect(changes).toMatchObject({ [`svc_queries_total{${labels}}`]: 1 });
      expect(Object.keys(changes).filter((name) => name.startsWith('svc_queries_total'))).toHaveLength(1);
      expect(changes).toMatchObject({ [`svc_query_duration_seconds_count{${labels}}`]: 1 });
      expect(changes).toMatchObject({ [`svc_query_wait_seconds_sum{engine="${engine}"}`]: 0.001 });
    },
  );
});

describe('other events', () => {
  const source = { requestId: 'r', tenant: 'default' };
  const write = { ...source, handle: 'h', rows: 10, rowsWritten: 3, bytes: 1, created: false, durationMs: 1 };
  test.each<[ServiceEvent, Readonly<Record<string, number>>]>([
    [
      { kind: 'frame_put', ...write },
      { 'svc_frame_writes_total{kind="put"}': 1, 'svc_frame_rows_written_total{kind="put"}': 3 },
    ],
    [
      { kind: 'frame_appended', ...write },
      { 'svc_frame_writes_total{kind="append"}': 1, 'svc_frame_rows_written_total{kind="append"}': 3 },
    ],
    [{ kind: 'frame_renamed', ...source, handle: 'h', newHandle: 'i' }, {}],
    [{ kind: 'frame_dropped', ...source, handle: 'h' }, { svc_frames_dropped_total: 1 }],
    [{ kind: 'frame_expired', tenant: 'default', handle: 'h' }, { svc_frames_expired_total: 1 }],
    [{ kind: 'scheduler_not_stopping', ...source }, { svc_scheduler_not_stopping_total: 1 }],
    [{ kind: 'engine_child_started', child: 'sql' }, { 'svc_engine_children{kind="sql"}': 1 }],
    [
      { kind: 'engine_child_exited', child: 'files', reason: 'crashed', requests: [] },
      { 'svc_engine_children{kind="files"}': -1, 'svc_engine_child_exits_total{kind="files",reason="crashed"}': 1 },
    ],
  ])('%j', (event, expected) => {
    expect(changesBy(createObserved(), 'svc_', event)).toEqual(expected);
  });

  test('svc_tsdb_up is the last outcome, and says nothing about requests that were not sent', () => {
    const { registry, observe } = createObserved();
    const up = (outcome: 'ok' | ErrorCode, status: number | null) => {
      observe({ kind: 'query_forwarded', ...source, outcome, status, durationMs: 1 });
      return samplesOf(registry, 'svc_tsdb_up')['svc_tsdb_up'];
    };
    expect(up('cancelled', null)).toBeUndefined();
    expect([up('ok', 200), up('tsdb_failed', null), up('cancelled', null), up('invalid_sql', 400)]).toEqual([
      1, 0, 0, 1,
    ]);
    expect([up('deadline_exceeded', null), up('uri_too_long', null)]).toEqual([0, 0]);
  });
});

test('a request that has no caller where callers are needed belongs to no tenant, and takes the label of none', () => {
  const { registry, observe } = createObserved(1, true);
  observe({ ...ANSWERED, caller: undefined });
  observe({ ...ANSWERED, caller: 't-1', tenant: 'alpha' });
  const requests = Object.keys(samplesOf(registry, 'svc_requests_total'));
  expect(requests.map((name) => /tenant="(.*)"/.exec(name)?.[1])).toEqual(['', 'alpha']);
});

test('tenants are labels only if that is set, and those after the first share one', () => {
  expect(Object.keys(changesBy(createObserved(), 'svc_requests_total', ANSWERED)).join()).not.toContain('tenant');
  const { registry, observe } = createObserved(2);
  for (const tenant of ['a', 'b', 'c', 'd', 'a']) observe({ ...ANSWERED, tenant });
  for (const tenant of ['d', 'b']) observe({ ...ENDED, tenant });
  const requests = Object.entries(samplesOf(registry, 'svc_requests_total'));
  expect(requests.map(([name, value]) => [/tenant="(.*)"/.exec(name)?.[1], value])).toEqual([
    ['a', 2],
    ['b', 1],
    ['other', 2],
  ]);
  expect(samplesOf(registry, 'svc_queries_total')).toEqual({
    'svc_queries_total{engine="local",outcome="ok",tenant="other"}': 1,
    'svc_queries_total{engine="local",outcome="ok",tenant="b"}': 1,
  });
});
