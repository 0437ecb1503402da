import { describe, expect, test } from 'vitest';
import { loadConfig } from './index.ts';

function load(env: Record<string, string>) {
  return loadConfig({ name: 'service', argv: [], env, homeDir: '' });
}

const DB = { TSDB_HTTP_URL: 'http://db:9000' };

describe('settings together', () => {
  test.each([
    [
      { SERVICE_TSDB_TOKEN: 't', SERVICE_TSDB_USER: 'u' },
      'tsdb.token is set together with tsdb.user (variable SERVICE_TSDB_USER).',
    ],
    [
      { SERVICE_TSDB_TOKEN: 't', SERVICE_TSDB_PASSWORD: 'p' },
      'tsdb.token is set together with tsdb.password (variable SERVICE_TSDB_PASSWORD).',
    ],
    [{ SERVICE_TSDB_PASSWORD: 'p' }, 'tsdb.password is set, but tsdb.user is not.'],
    [{ SERVICE_AUTH_MODE: 'required' }, 'auth.mode is required, but no setting names a source of callers.'],
    [
      { SERVICE_AUTH_MODE: 'none', SERVICE_AUTH_CALLERS_FILE: '/c.toml' },
      'auth.mode is none, but auth.callers_file is set (variable SERVICE_AUTH_CALLERS_FILE).',
    ],
    [
      {
        SERVICE_AUTH_MODE: 'none',
        SERVICE_AUTH_JWKS: '/j',
        SERVICE_AUTH_JWT_ISSUER: 'i',
        SERVICE_AUTH_JWT_AUDIENCE: 'a',
      },
      'auth.mode is none, but auth.jwks is set (variable SERVICE_AUTH_JWKS).',
    ],
    [{ SERVICE_AUTH_JWKS: '/j', SERVICE_AUTH_JWT_ISSUER: 'i' }, 'auth.jwks is set, but auth.jwt_audience is not.'],
    [{ SERVICE_AUTH_JWKS: '/j', SERVICE_AUTH_JWT_AUDIENCE: 'a' }, 'auth.jwks is set, but auth.jwt_issuer is not.'],
    [
      { SERVICE_AUTH_JWKS: 'http://a/jwks', SERVICE_AUTH_JWT_ISSUER: 'i', SERVICE_AUTH_JWT_AUDIENCE: 'a' },
      'auth.jwks is "http://a/jwks", but must be the path of a file, or a URL that begins with https://.',
    ],
    [{ SERVICE_TLS_CERT_FILE: '/c' }, 'tls.cert_file is set, but tls.key_file is not.'],
    [{ SERVICE_TLS_KEY_FILE: '/k' }, 'tls.key_file is set, but tls.cert_file is not.'],
    [{ SERVICE_TLS_CLIENT_CA_FILE: '/a' }, 'tls.client_ca_file is set, but tls.cert_file is not.'],
    [
      { SERVICE_TLS_CERT_FILE: '/c', SERVICE_TLS_KEY_FILE: '/k', SERVICE_TLS_CLIENT_CERTIFICATES: 'required' },
      'tls.client_certificates is set, but tls.client_ca_file is not.',
    ],
  ])('%j is a problem', (env, message) => {
    const result = load({ ...DB, ...env });
    expect(result.kind === 'problems' && result.problems.map((problem) => problem.message)).toEqual([message]);
  });

  test('are checked even if one of them is invalid', () => {
    const result = load({ ...DB, SERVICE_GRPC_PORT: 'x', SERVICE_TSDB_PASSWORD: 'p' });
    expect(result.kind === 'problems' && result.problems.map(({ setting }) => setting)).toEqual([
      'server.grpc_port',
      'tsdb.password',
    ]);
  });

  test('a refused user does not count as a missing user of its password', () => {
    const result = load({ ...DB, SERVICE_TSDB_USER: 'a:b', SERVICE_TSDB_PASSWORD: 'p' });
    expect(result.kind === 'problems' && result.problems.map(({ setting }) => setting)).toEqual(['tsdb.user']);
  });

  test.each([
    [{ ...DB, SERVICE_TSDB_USER: 'u' }, 'tsdb.user is set, but tsdb.password is not.'],
    [{ SERVICE_TSDB_TOKEN: 't' }, 'tsdb.token has no effect without tsdb.http_url.'],
    [{ SERVICE_AUTH_JWT_ISSUER: 'i' }, 'auth.jwt_issuer has no effect without auth.jwks.'],
    [
      { SERVICE_COMPRESSION: 'gzip', SERVICE_COMPRESSION_LEVEL: '5' },
      'compression.level has no effect with the algorithm gzip.',
    ],
  ])('%j is a warning', (env, message) => {
    const result = load(env);
    expect(result.kind === 'config' && result.warnings.map((warning) => warning.message)).toContain(message);
  });

  test.each([[{ ...DB, SERVICE_TSDB_USER: 'u', SERVICE_TSDB_PASSWORD: 'p' }], [{ ...DB, SERVICE_TSDB_TOKEN: 't' }]])(
    '%j is fine',
    (env) => {
      expect(load(env)).toMatchObject({ kind: 'config', warnings: [] });
    },
  );
});

test.each([
  [{}, 'none'],
  [{ SERVICE_AUTH_MODE: 'none' }, 'none'],
  [{ SERVICE_AUTH_CALLERS_FILE: '/c.toml' }, 'required'],
  [{ SERVICE_AUTH_MODE: 'required', SERVICE_AUTH_CALLERS_FILE: '/c.toml' }, 'required'],
])('%j gives auth.mode %s', (env, mode) => {
  expect(load(env)).toMatchObject({ kind: 'config', config: { auth: { mode } }, warnings: [] });
});

describe('the two listeners', () => {
  test.each([
    ['0.0.0.0:50052', '0.0.0.0', '50052'],
    ['127.0.0.1:7000', '0.0.0.0', '7000'],
    [':7000', '10.0.0.1', '7000'],
    ['[::1]:7000', '::1', '7000'],
  ])('cannot share HTTP %s and gRPC %s port %s', (http, host, port) => {
    const result = load({ SERVICE_HTTP_BIND_ADDRESS: http, SERVICE_GRPC_HOST: host, SERVICE_GRPC_PORT: port });
    expect(result).toMatchObject({ kind: 'problems', problems: [{ setting: 'server.grpc_port', value: port }] });
  });

  test('name the setting that the user gave', () => {
    expect(load({ SERVICE_HTTP_BIND_ADDRESS: ':50052' })).toMatchObject({
      problems: [{ source: { kind: 'variable', name: 'SERVICE_HTTP_BIND_ADDRESS' } }],
    });
  });

  test.each([
    [':0', '0.0.0.0', '0'],
    ['127.0.0.1:7000', '127.0.0.2', '7000'],
  ])('may have HTTP %s and gRPC %s port %s', (http, host, port) => {
    const env = { SERVICE_HTTP_BIND_ADDRESS: http, SERVICE_GRPC_HOST: host, SERVICE_GRPC_PORT: port };
    expect(load(env).kind).toBe('config');
  });
});

describe('the listener of the metrics', () => {
  const LISTENERS = {
    SERVICE_HTTP_BIND_ADDRESS: '127.0.0.1:7000',
    SERVICE_GRPC_HOST: '::1',
    SERVICE_GRPC_PORT: '7001',
  };

  test.each([
    ['127.0.0.1:7000', 'server.http_bind_address (127.0.0.1:7000)'],
    ['0.0.0.0:7000', 'server.http_bind_address (127.0.0.1:7000)'],
    ['[::1]:7001', 'server.grpc_port ([::1]:7001)'],
  ])('cannot have %s, the port of %s', (own, other) => {
    expect(load({ ...LISTENERS, SERVICE_METRICS_BIND_ADDRESS: own })).toMatchObject({
      kind: 'problems',
      problems: [
        {
          source: { kind: 'variable', name: 'SERVICE_METRICS_BIND_ADDRESS' },
          setting: 'metrics.bind_address',
          value: own,
          message: `metrics.bind_address is ${own}, with the port of ${other}.`,
        },
      ],
    });
  });

  test.each([
    ['127.0.0.2:7000', {}],
    ['127.0.0.1:7002', {}],
    ['127.0.0.1:0', { SERVICE_HTTP_BIND_ADDRESS: '127.0.0.1:0' }],
    ['127.0.0.1:7000', { SERVICE_METRICS_ENABLED: 'false' }],
  ])('may have %s with %j', (own, env) => {
    expect(load({ ...LISTENERS, SERVICE_METRICS_BIND_ADDRESS: own, ...env }).kind).toBe('config');
  });
});

describe('the time-series database', () => {
  test.each([
    ['0.0.0.0:9000', 'http://127.0.0.1:9000'],
    ['0.0.0.0:9000', 'http://localhost:9000/base'],
    ['0.0.0.0:9000', 'http://0.0.0.0:9000'],
    ['[::]:9000', 'http://[::1]:9000'],
    ['[::]:9000', 'http://127.0.0.1:9000'],
    ['127.0.0.1:9000', 'http://localhost:9000'],
    ['localhost:9000', 'http://[::1]:9000'],
    ['10.0.0.1:80', 'http://10.0.0.1'],
    ['10.0.0.1:443', 'https://10.0.0.1'],
  ])('must not be the server itself: bound to %s, forwarding to %s', (bind, url) => {
    const result = load({ SERVICE_HTTP_BIND_ADDRESS: bind, SERVICE_TSDB_HTTP_URL: url });
    expect(result).toMatchObject({ kind: 'problems', problems: [{ setting: 'tsdb.http_url', value: url }] });
  });

  test.each([
    ['0.0.0.0:9000', 'http://127.0.0.1:9001'],
    ['0.0.0.0:9000', 'http://db:9000'],
    ['0.0.0.0:9000', 'http://[::1]:9000'],
    ['127.0.0.1:9000', 'http://127.0.0.2:9000'],
    ['127.0.0.1:9000', 'http://[::1]:9000'],
    ['10.0.0.1:9000', 'http://127.0.0.1:9000'],
    ['0.0.0.0:0', 'http://127.0.0.1:9000'],
  ])('may be another host: bound to %s, forwarding to %s', (bind, url) => {
    expect(load({ SERVICE_HTTP_BIND_ADDRESS: bind, SERVICE_TSDB_HTTP_URL: url }).kind).toBe('config');
  });
});

describe('traces', () => {
  const URL = { SERVICE_TRACES_OTLP_URL: 'http://c:4318' };
  const HEADERS = 'authorization=s3cret';

  test.each([
    [{ SERVICE_TRACES_OTLP_HEADERS: HEADERS }, 'traces.otlp_headers has no effect without traces.otlp_url.'],
    [{ SERVICE_TRACES_SERVICE_NAME: 'a' }, 'traces.service_name has no effect without traces.otlp_url.'],
    [
      { SERVICE_TRACES_RESOURCE_ATTRIBUTES: 'a=b' },
      'traces.resource_attributes has no effect without traces.otlp_url.',
    ],
  ])('%j has a warning', (env, message) => {
    expect(load(env)).toMatchObject({ kind: 'config', warnings: [{ message }] });
    expect(load({ ...env, ...URL })).toMatchObject({ kind: 'config', warnings: [] });
  });

  test('variables of OpenTelemetry, which may be meant for other programs, have none', () => {
    expect(load({ OTEL_SERVICE_NAME: 'a', OTEL_EXPORTER_OTLP_HEADERS: HEADERS })).toMatchObject({ warnings: [] });
  });

  test.each([
    ['SERVICE_TRACES_OTLP_URL', 'collector:4318', 'must be an http:// or https:// URL'],
    ['SERVICE_TRACES_OTLP_URL', 'http://u:s3cret@c', 'must be a URL without credentials (set traces.otlp_headers'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://c/v1/traces', 'must be the base URL, without /v1/traces at its end'],
    ['SERVICE_TRACES_SAMPLE', '1.01', 'must be a number from 0 to 1'],
    ['SERVICE_TRACES_SAMPLE', '-0.1', 'must be a number from 0 to 1'],
    ['SERVICE_TRACES_OTLP_HEADERS', 's3cret', 'must be a list of name=value'],
    ['SERVICE_TRACES_OTLP_HEADERS', 'a b=s3cret', 'must be a list of name=value'],
    ['SERVICE_TRACES_OTLP_HEADERS', 'a=s3cret%0d%0ax: y', 'must be a list of name=value'],
    ['SERVICE_TRACES_RESOURCE_ATTRIBUTES', '=a', 'must be a list of name=value'],
  ])('%s=%s is refused', (name, value, message) => {
    const result = load({ [name]: value });
    expect(result).toMatchObject({ kind: 'problems', problems: [{ message: expect.stringContaining(message) }] });
    expect(JSON.stringify(result)).not.toContain('s3cret');
  });
});
