import { ServiceError } from '@svc/errors';
import { createExecApp } from '@svc/exec-http';
import { createMemoryStore, parseHandle } from '@svc/frames';
import { longFrame } from '@svc/frames/testing';
import { createService } from '@svc/service';
import type { TsdbProxy } from '@svc/tsdb-proxy';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { createMetricsObserver } from '../src/metrics/metrics-observer.ts';
import { createRegistry, type Registry } from '../src/metrics/registry.ts';
import { SLOW } from '../../../test/tier.ts';

const MAX_SERIES = 2000;

const word = fc.stringMatching(/^[\w.%~-]{1,20}$/);
const path = fc.oneof(
  fc.constantFrom(
    '/exec',
    '/exp',
    '/chk',
    '/frames',
    '/ping',
    '/health',
    '/ready',
    '/readyz',
    '/livez',
    '/openapi.json',
  ),
  word.map((handle) => `/frames/${handle}`),
  fc.tuple(word, fc.constantFrom('csv', 'parquet', 'arrow', 'ndjson', 'x')).map((file) => `/files/${file.join('.')}`),
  fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => `/${words.join('/')}`),
);
const parameter = fc.oneof(
  fc.constantFrom(
    'handle=t',
    'fmt=json',
    'fmt=csv',
    'fmt=arrow',
    'fmt=ndjson',
    'engine=local',
    'limit=5',
    'timings=true',
  ),
  fc.tuple(fc.constantFrom('handle', 'query', 'fmt', 'cols', 'limit', 'engine'), word).map((pair) => pair.join('=')),
  fc.tuple(word, word).map((pair) => pair.join('=')),
);
const request = fc.record({
  path,
  parameters: fc.array(parameter, { maxLength: 5 }),
  method: fc.oneof(
    { weight: 4, arbitrary: fc.constant('GET') },
    { weight: 3, arbitrary: fc.constantFrom('HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS') },
    { weight: 1, arbitrary: fc.stringMatching(/^[A-Z]{3,9}$/).filter((name) => !['CONNECT', 'TRACE'].includes(name)) },
  ),
  body: fc.constantFrom('[{"a":1}]', '{"sql":"select 1"}', 'select 1', 'a\n1\n', ''),
  type: fc.constantFrom('application/json', 'text/plain', 'text/csv', 'image/png'),
});

async function sendRandomRequests(count: number): Promise<Registry> {
  const registry = createRegistry({ hasTenants: false });
  const observe = createMetricsObserver({ registry, maxTenants: undefined });
  const store = createMemoryStore();
  await store.put({ tenant: 'default', handle: parseHandle('t') }, longFrame(20));
  const tsdb: TsdbProxy = {
    forward: () => Promise.reject(new ServiceError('tsdb_failed', 'There is no database.')),
    close: async () => {},
  };
  const service = createService({ store, tsdb, observe });
  onTestFinished(() => service.close());
  const app = createExecApp({ service });
  let seed = 1;
  for (let sent = 0; sent < count; sent += 1000, seed += 1) {
    for (const { path: to, parameters, method, body, type } of fc.sample(request, { numRuns: 1000, seed })) {
      const hasBody = !['GET', 'HEAD'].includes(method);
      const init = { method, ...(hasBody && { body, headers: { 'content-type': type } }) };
      await (await app.request(`${to}?${parameters.join('&')}`, init)).arrayBuffer();
    }
  }
  expect([...registry.format('prometheus')].join('')).toContain('svc_requests_in_flight{protocol="http"} 0\n');
  return registry;
}

test('random requests leave fewer than 2000 series', { tags: ['slow'] }, async () => {
  expect((await sendRandomRequests(2000)).size()).toBeLessThan(MAX_SERIES);
});

test('so do 100 000 of them', { ...SLOW, timeout: 600_000 }, async () => {
  expect((await sendRandomRequests(100_000)).size()).toBeLessThan(MAX_SERIES);
});
