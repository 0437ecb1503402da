import { describe, expect, test } from 'vitest';
import { load, loaded } from '../test/load-given.ts';
import { formatConfig } from './format.ts';
import { parseSchedulerUrl } from './scheduler-url.ts';

describe('scheduler.url', () => {
  const spark = { protocol: 'spark-connect', host: 'spark', port: 15_002, hasTls: false };
  const flight = { protocol: 'flight-sql', host: 'h', port: 1, hasTls: false };
  test.each([
    ['sc://spark', spark],
    ['sc://spark/', spark],
    ['SC://spark:99/;', { ...spark, port: 99 }],
    ['sc://spark/;use_ssl=true', { ...spark, hasTls: true }],
    ['sc://spark/;token=a=b', { ...spark, hasTls: true, token: 'a=b' }],
    ['sc://spark/;token=t;use_ssl=false', { ...spark, token: 't' }],
    [
      'sc://spark/;user_id=ada;user_agent=etl%20jobs;token=a%3Db',
      { ...spark, hasTls: true, token: 'a=b', userId: 'ada', userAgent: 'etl jobs' },
    ],
    ['sc://[::1]:7', { ...spark, host: '::1', port: 7 }],
    ['grpc://h:1', flight],
    ['grpc+tls://h:1/', { ...flight, hasTls: true }],
  ])('%s', (text, expected) => {
    expect(parseSchedulerUrl(text)).toEqual(expected);
  });

  const LOCAL = { SERVICE_HTTP_BIND_ADDRESS: '127.0.0.1:9000', SERVICE_GRPC_HOST: '::1', SERVICE_DATA_DIR: '/d' };
  const AUTH = { SERVICE_AUTH_CALLERS_FILE: '/c.toml' };
  const problemsOf = (env: Record<string, string>): readonly string[] => {
    const result = load({ env });
    return result.kind === 'problems' ? result.problems.map(({ message, value }) => `${message} ${value ?? ''}`) : [];
  };

  test.each([
    'http://spark:15002',
    'grpc://h',
    'grpc://h:0',
    'grpc://h:1/;token=t',
    'sc://user:secret@spark',
    'sc://spark:99999',
    'sc://spark/;token=secret;token=secret',
    'sc://spark/;user_agent=%00',
    'sc://spark/;user_id=%zz;token=secret',
    'sc://spark/;x-header=secret',
    'sc://spark/;use_ssl=maybe;token=secret',
    'sc://spark/;token=',
    'sc:// ',
  ])('%s is a problem that does not show a secret', (url) => {
    const [problem, ...others] = problemsOf({ ...LOCAL, SERVICE_SCHEDULER_URL: url });
    expect(problem).toContain('scheduler.url is ');
    expect(problem).not.toContain('secret');
    expect(others).toEqual([]);
  });

  test('a session_id is refused by name', () => {
    const url = 'sc://spark/;session_id=6b1b5fda-2ed2-4b2e-8f2b-7a0a2a0c0a11';
    expect(problemsOf({ ...LOCAL, SERVICE_SCHEDULER_URL: url })).toEqual([
      expect.stringContaining('without session_id, because each statement has a session of its own'),
    ]);
  });

  test.each(['f({uri})', "f('a', {uri}, 'b')", "f('{uri}", "f('{uri}', '{uri}')", "f('x')"])(
    '%s does not say how to read a file',
    (template) => {
      const env = { ...LOCAL, SERVICE_SCHEDULER_URL: 'grpc://127.0.0.1:1', SERVICE_SCHEDULER_READ_FILE: template };
      expect(problemsOf(env)).toEqual([expect.stringContaining('scheduler.read_file is ')]);
    },
  );

  test.each([
    [{ ...LOCAL, SERVICE_SCHEDULER_URL: 'sc://spark' }, []],
    [{ ...LOCAL, ...AUTH, SERVICE_GRPC_HOST: '0.0.0.0', SERVICE_SCHEDULER_URL: 'sc://spark' }, []],
    [
      { ...LOCAL, SERVICE_GRPC_HOST: '0.0.0.0', SERVICE_SCHEDULER_URL: 'sc://spark' },
      ['scheduler.url is set, but callers need no credentials, and server.grpc_host is 0.0.0.0. '],
    ],
    [
      { ...LOCAL, SERVICE_DATA_DIR: '', SERVICE_SCHEDULER_URL: 'sc://spark' },
      ['scheduler.url is set, but the frames are in a temporary directory, which no cluster can read. '],
    ],
    [{ ...LOCAL, SERVICE_DATA_DIR: '', SERVICE_SCHEDULER_URL: 'grpc://h:1' }, []],
    [
      { ...LOCAL, SERVICE_SCHEDULER_URL: 'sc://spark', SERVICE_SCHEDULER_READ_FILE: "f('{uri}')" },
      ['scheduler.read_file is set, but scheduler.url is sc://, which needs none. '],
    ],
    [
      { ...LOCAL, SERVICE_SCHEDULER_URL: 'sc://spark', SERVICE_SCHEDULER_TOKEN: 't' },
      ['scheduler.url is not encrypted, and a token would be sent in the clear. '],
    ],
    [{ ...LOCAL, SERVICE_SCHEDULER_URL: 'sc://127.0.0.1', SERVICE_SCHEDULER_TOKEN: 't' }, []],
    [
      { ...LOCAL, SERVICE_SCHEDULER_URL: 'sc://spark/;token=t', SERVICE_SCHEDULER_TOKEN: 't' },
      ['scheduler.token is set, and scheduler.url has a token too. '],
    ],
  ])('%j', (env, problems) => {
    const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
    expect(problemsOf(given)).toEqual(problems);
  });

  test('its token is not shown by --print-config', () => {
    const env = { ...LOCAL, SERVICE_SCHEDULER_URL: 'sc://spark/;token=secret;use_ssl=true' };
    const printed = formatConfig(loaded({ env }));
    expect(printed).toContain('url = "sc://spark/;token=***;use_ssl=true"');
    expect(printed).not.toContain('secret');
  });
});

test.each([
  ['file:///a%20b/', 'file:///a%20b'],
  ['s3://bucket', 's3://bucket'],
  ['s3a://bucket/frames', 's3a://bucket/frames'],
  ['file:///a b', undefined],
  ['file:///a%2', undefined],
  ['file://host/a', undefined],
  ['/srv/frames', undefined],
  ['s3://user:secret@bucket/x', undefined],
  ['s3://bucket/x?token=1', undefined],
])('scheduler.frames_url %s is %s', (url, expected) => {
  const result = load({ env: { SERVICE_SCHEDULER_FRAMES_URL: url } });
  expect(result.kind === 'config' ? result.config.scheduler.frames_url : undefined).toBe(expected);
});
