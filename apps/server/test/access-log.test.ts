import { describe, expect, test, vi } from 'vitest';
import { createLog } from '../src/observers/log.ts';
import { type LogLine, startProcess } from './server-process.ts';
import { startUpstream } from './upstream.ts';

const accessLines = (log: readonly LogLine[]): readonly LogLine[] => log.filter(({ message }) => message === 'access');

describe('logging.access', () => {
  test('all logs one line for each request, whatever logging.level is', async () => {
    const server = await startProcess({ env: { SERVICE_LOGGING_ACCESS: 'all', SERVICE_LOG_LEVEL: 'off' } });
    await server.put('t', [{ id: 1 }, { id: 2 }], { headers: { 'user-agent': 'my-tool/1.0', 'x-request-id': 'r-1' } });
    const { length } = await (await server.fetch('/exec?handle=t&fmt=json')).text();
    await server.fetch('/exec?handle=none&fmt=json&secret=x');
    await server.fetch('/none?secret=x');
    await server.logged((line) => line['path'] === '/none');
    const common = { level: 'info', service: 'svc', version: expect.any(String), instance: expect.any(String) };
    const http = { ...common, protocol: 'http', client: '127.0.0.1', tenant: 'default' };
    expect(accessLines(server.log)).toMatchObject([
      {
        ...http,
        requestId: 'r-1',
        method: 'PUT',
        route: '/frames/{handle}',
        path: '/frames/t',
        status: 201,
        requestBytes: 19,
        format: 'json',
        userAgent: 'my-tool/1.0',
        durationMs: expect.any(Number),
      },
      { ...http, method: 'GET', route: '/exec', status: 200, rows: 2, responseBytes: length },
      { ...http, route: '/exec', status: 404, code: 'handle_not_found' },
      { ...http, route: 'other', path: '/none', status: 404, code: 'route_not_found' },
    ]);
    expect(JSON.stringify(server.log)).not.toContain('secret');
  });

  test('errors logs those that fail', async () => {
    const server = await startProcess({ env: { SERVICE_LOGGING_ACCESS: 'errors' } });
    await server.fetch('/ping');
    await server.fetch('/none');
    await server.logged(({ message }) => message === 'access');
    expect(accessLines(server.log)).toMatchObject([{ status: 404 }]);
  });

  test.each([
    ['errors', {}],
    ['all with access_sample 0', { SERVICE_LOGGING_ACCESS: 'all', SERVICE_LOGGING_ACCESS_SAMPLE: '0' }],
  ])('%s logs failures that the time-series database sends', async (_name, env) => {
    const upstream = await startUpstream(({ url = '' }, response) => {
      response.statusCode = Number(new URL(url, 'http://db').searchParams.get('query'));
      response.end('{}');
    });
    const server = await startProcess({
      env: { SERVICE_LOGGING_ACCESS: 'errors', SERVICE_TSDB_HTTP_URL: upstream.url, ...env },
    });
    for (const status of [200, 400, 503]) await server.fetch(`/exec?query=${status}&fmt=json`);
    await server.fetch('/none');
    await server.logged(({ message, path }) => message === 'access' && path === '/none');
    expect(accessLines(server.log).map(({ status }) => status)).toEqual([400, 503, 404]);
  });

  test('is off by default, and logging.access_sample leaves out successful ones', { tags: ['slow'] }, async () => {
    const quiet = await startProcess();
    const sampled = await startProcess({ env: { SERVICE_LOGGING_ACCESS: 'all', SERVICE_LOGGING_ACCESS_SAMPLE: '0' } });
    for (const server of [quiet, sampled]) for (const path of ['/ping', '/none']) await server.fetch(path);
    await sampled.logged(({ message }) => message === 'access');
    expect(accessLines(sampled.log)).toMatchObject([{ status: 404 }]);
    expect(accessLines(quiet.log)).toEqual([]);
  });
});

function linesOf(write: (log: ReturnType<typeof createLog>) => void, format: 'json' | 'text' = 'json'): string[] {
  const lines: string[] = [];
  const written = vi.spyOn(process.stderr, 'write').mockImplementation((text) => lines.push(String(text)) > 0);
  try {
    write(createLog({ level: 'info', format }));
  } finally {
    written.mockRestore();
  }
  return lines;
}

test.each(['json', 'text'] as const)('no control character of a client is in a line of %s', (format) => {
  const userAgent = String.fromCharCode(...Array.from({ length: 0xa0 }, (_, i) => i));
  const [line = ''] = linesOf((log) => log.info('access', { userAgent }), format);
  expect(line.slice(0, -1)).not.toMatch(/\p{Cc}/u);
});

describe('a line of JSON that is too long', () => {
  const manyFields = (count: number, value: unknown): Readonly<Record<string, unknown>> =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, value]));

  test.each([
    ['of one text', { requestId: 'r', cause: 'x'.repeat(100_000) }, { requestId: 'r', isCut: true }],
    ['of one object', { requestId: 'r', list: Array.from({ length: 9999 }, String) }, { requestId: 'r', isCut: true }],
    ['of many fields', manyFields(9999, 0), { isCut: true }],
    [
      'of many fields and ids',
      { ...manyFields(9999, 0), requestId: 'r', traceId: 't' },
      { requestId: 'r', traceId: 't' },
    ],
    ['of wide characters', { requestId: 'r', cause: '漢'.repeat(6000) }, { requestId: 'r', isCut: true }],
    ['of many texts with wide characters', { ...manyFields(9, '漢'.repeat(999)), requestId: 'r' }, { requestId: 'r' }],
    ['of an id that is too long', { ...manyFields(9999, 0), requestId: '\u0001'.repeat(99_999) }, { isCut: true }],
  ])('%s is cut, and stays JSON', (_name, fields, expected) => {
    const [line = ''] = linesOf((log) => log.info('hello', fields));
    expect(Buffer.byteLength(line)).toBeLessThanOrEqual(16 * 1024 + 1);
    expect(JSON.parse(line)).toMatchObject({ message: 'hello', level: 'info', ...expected });
  });
});
