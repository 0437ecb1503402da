import { describe, expect, test } from 'vitest';
import { METRICS } from '../src/metrics/metric-table.ts';
import { metricsFormat } from '../src/metrics/metrics.ts';
import { createRegistry, type Registry } from '../src/metrics/registry.ts';

const textOf = (registry: Registry, format: 'openmetrics' | 'prometheus'): string =>
  [...registry.format(format)].join('');

describe('the text of a metric', () => {
  const registry = createRegistry({ hasTenants: false });
  registry.sample('svc_frame_writes_total', 'a"b\\c\nd').value = 3;
  const wait = registry.histogram('svc_query_wait_seconds', 'local');
  for (const seconds of [0.001, 0.0011, 1, 61]) wait.observe(seconds);
  const linesOf = (format: 'prometheus' | 'openmetrics', name: string) =>
    textOf(registry, format)
      .split('\n')
      .filter((line) => line.includes(name));

  test('has its labels escaped', () => {
    expect(linesOf('prometheus', 'svc_frame_writes')).toEqual([
      `# HELP svc_frame_writes_total ${METRICS.svc_frame_writes_total.help}`,
      '# TYPE svc_frame_writes_total counter',
      String.raw`svc_frame_writes_total{kind="a\"b\\c\nd"} 3`,
    ]);
  });

  test('has the suffix of a counter only in the samples of OpenMetrics, which ends with a mark', () => {
    expect(linesOf('openmetrics', 'svc_frame_writes')).toEqual([
      `# HELP svc_frame_writes ${METRICS.svc_frame_writes_total.help}`,
      '# TYPE svc_frame_writes counter',
      String.raw`svc_frame_writes_total{kind="a\"b\\c\nd"} 3`,
    ]);
    expect(textOf(registry, 'openmetrics').endsWith('\n# EOF\n')).toBe(true);
    expect(textOf(registry, 'prometheus')).not.toContain('EOF');
  });

  test('counts a value in the bucket of its bound and in all above', () => {
    const counts = linesOf('prometheus', 'svc_query_wait_seconds_bucket').map((line) => line.split(' ')[1]);
    expect(counts.map(Number)).toEqual([1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4]);
    expect(linesOf('prometheus', 'le="+Inf"')).toEqual(['svc_query_wait_seconds_bucket{engine="local",le="+Inf"} 4']);
    expect(linesOf('prometheus', '_sum')).toEqual(['svc_query_wait_seconds_sum{engine="local"} 62.0021']);
    expect(linesOf('prometheus', '_count{')).toEqual(['svc_query_wait_seconds_count{engine="local"} 4']);
  });

  test('is counted as series', () => {
    const lines = textOf(registry, 'prometheus').split('\n');
    expect(registry.size()).toBe(lines.filter((line) => line !== '' && !line.startsWith('#')).length);
  });
});

test('with the most tenants, the text is in pieces', () => {
  const registry = createRegistry({ hasTenants: true });
  const labels = METRICS.svc_requests_total.labels;
  for (let i = 0; i < 10_000; i += 1) registry.sample('svc_requests_total', ...labels, `tenant-${i}`).value += 1;
  const pieces = [...registry.format('prometheus')];
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(128 * 1024);
  const lines = pieces.join('').split('\n');
  expect(lines.filter((line) => line !== '' && !line.startsWith('#'))).toHaveLength(registry.size());
});

test('a metric has exactly the labels of its row', () => {
  const registry = createRegistry({ hasTenants: false });
  expect(() => registry.sample('svc_connections')).toThrow('Expected the labels protocol.');
  expect(() => registry.sample('svc_ready', 'x')).toThrow('Expected the labels .');
});

test.each([
  [undefined, 'prometheus'],
  ['*/*', 'prometheus'],
  ['text/html,*/*;q=0.8', 'prometheus'],
  ['text/plain', 'prometheus'],
  ['application/openmetrics-text', 'openmetrics'],
  ['application/openmetrics-text; version=1.0.0', 'openmetrics'],
  ['application/openmetrics-text; version="1.0.0"; charset=utf-8', 'openmetrics'],
  ['application/openmetrics-text; version=2.0.0', 'prometheus'],
  ['application/openmetrics-text;q=0', 'prometheus'],
  ['application/openmetrics-text;q=0.3,text/plain;version=0.0.4;q=0.5', 'prometheus'],
  [
    'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
    'openmetrics',
  ],
] as const)('Accept: %s gets the format %s', (accept, format) => {
  expect(metricsFormat(accept)).toBe(format);
});
