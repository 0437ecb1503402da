import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import * as fc from 'fast-check';
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest';
import { CA_FILE, FILE, load, loaded } from '../test/load-given.ts';
import { createServiceNames } from './environment.ts';
import { type Config, loadConfig } from './index.ts';
import { SETTING_ROWS } from './settings.ts';

const names = createServiceNames('service');

describe('variables', () => {
  test('have the names of the specification', () => {
    const found = Object.fromEntries(
      SETTING_ROWS.map((row) => [row.path, names.variablesOf(row).map(({ name }) => name)]),
    );
    expect(found).toMatchObject({
      'server.http_bind_address': ['SERVICE_HTTP_BIND_ADDRESS'],
      'tsdb.http_url': ['SERVICE_TSDB_HTTP_URL', 'TSDB_HTTP_URL'],
      'server.grpc_host': ['SERVICE_GRPC_HOST'],
      'server.grpc_port': ['SERVICE_GRPC_PORT'],
      'server.max_connections': ['SERVICE_MAX_CONNECTIONS'],
      'storage.data_dir': ['SERVICE_DATA_DIR'],
      'storage.parquet_path': ['SERVICE_PARQUET_PATH'],
      'storage.duckdb_path': ['SERVICE_DUCKDB_PATH'],
      'storage.cache_size_gb': ['SERVICE_CACHE_SIZE'],
      'compression.algorithm': ['SERVICE_COMPRESSION'],
      'compression.level': ['SERVICE_COMPRESSION_LEVEL'],
      'logging.level': ['SERVICE_LOG_LEVEL', 'RUST_LOG'],
      'logging.format': ['SERVICE_LOG_FORMAT'],
      'server.drain_delay_ms': ['SERVICE_SERVER_DRAIN_DELAY_MS'],
      'server.shutdown_grace_ms': ['SERVICE_SERVER_SHUTDOWN_GRACE_MS'],
      'http.max_upload_bytes': ['SERVICE_HTTP_MAX_UPLOAD_BYTES'],
      'http.max_lines_bytes': ['SERVICE_HTTP_MAX_LINES_BYTES'],
      'grpc.max_message_bytes': ['SERVICE_GRPC_MAX_MESSAGE_BYTES'],
    });
  });

  test('take their prefix and the file its folder from the name of the service', () => {
    const read: string[] = [];
    const readFile = (path: string): Uint8Array => {
      read.push(path);
      return Buffer.from('');
    };
    const { config } = loaded({
      name: 'data-frames',
      env: { DATA_FRAMES_GRPC_PORT: '1', SERVICE_GRPC_PORT: '2' },
      readFile,
    });
    expect(config.server.grpc_port).toBe(1);
    expect(read).toEqual(['/home/ada/.data-frames/config.toml']);
  });

  test.each(['', 'Service', 'a b', '../x', '-a', 'a-', '1a'])('the service name %j is refused', (name) => {
    expect(() => load({ name })).toThrow(TypeError);
  });

  test('the variables of OpenTelemetry count if those of the service are missing', () => {
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://c.example:4318',
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=s3cret',
      OTEL_SERVICE_NAME: 'frames',
      OTEL_RESOURCE_ATTRIBUTES: 'k8s.pod.name=svc-0,host.name=a',
      OTEL_TRACES_SAMPLER_ARG: '1',
    };
    const { config, warnings } = loaded({ env });
    expect(config.traces).toMatchObject({
      otlp_url: 'https://c.example:4318',
      otlp_headers: ['api-key=s3cret'],
      service_name: 'frames',
      resource_attributes: ['k8s.pod.name=svc-0', 'host.name=a'],
    });
    expect(warnings).toEqual([]);
    const own = { ...env, SERVICE_TRACES_OTLP_URL: 'http://own', SERVICE_TRACES_SERVICE_NAME: 'own' };
    expect(loaded({ env: own }).config.traces).toMatchObject({ otlp_url: 'http://own', service_name: 'own' });
  });

  test('SERVICE_TSDB_HTTP_URL wins over TSDB_HTTP_URL, unless it is empty', () => {
    const both = { SERVICE_TSDB_HTTP_URL: 'http://a', TSDB_HTTP_URL: 'http://b' };
    expect(loaded({ env: both }).config.tsdb.http_url).toBe('http://a');
    expect(loaded({ env: { ...both, SERVICE_TSDB_HTTP_URL: '' } }).config.tsdb.http_url).toBe('http://b');
  });

  test('SERVICE_LOG_LEVEL wins over RUST_LOG', () => {
    expect(loaded({ env: { SERVICE_LOG_LEVEL: 'ERROR', RUST_LOG: 'trace' } }).config.logging.level).toBe('error');
  });

  test.each([
    ['info,h2=warn', 'info'],
    ['h2=warn,debug', 'debug'],
    ['h2=warn, TRACE ,x=off', 'trace'],
    ['off', 'off'],
    ['warn,error', 'error'],
    ['info/some.*regex', 'info'],
    ['h2=warn', 'warn from the file'],
    ['my_module', 'warn from the file'],
    [',', 'warn from the file'],
  ])('RUST_LOG=%s gives %s', (RUST_LOG, expected) => {
    const { config, sources, warnings } = loaded({ env: { RUST_LOG }, toml: '[logging]\nlevel = "warn"' });
    expect(config.logging.level + (sources.logging.level.kind === 'file' ? ' from the file' : '')).toBe(expected);
    expect(warnings).toEqual([]);
  });

  test('that are unknown are warnings with the nearest name, without the value', () => {
    const { warnings } = loaded({
      env: {
        SERVICE_GRPC_PROT: 'hunter2',
        SERVICE_SERVER_GRPC_HOST: 'x',
        SERVICE_QQQQQQQQ: 'x',
        SERVICE_EMPTY: '',
        SERVICE_HTTP_ANSWER_CACHE_BYTES: '0',
        OTHER: 'x',
      },
    });
    expect(warnings.map(({ source, hint }) => [source, hint])).toEqual([
      [{ kind: 'variable', name: 'SERVICE_GRPC_PROT' }, 'Did you mean SERVICE_GRPC_PORT?'],
      [
        { kind: 'variable', name: 'SERVICE_HTTP_ANSWER_CACHE_BYTES' },
        'Short responses take a twelfth of storage.cache_size_gb.',
      ],
      [{ kind: 'variable', name: 'SERVICE_QQQQQQQQ' }, '--help lists the variables.'],
      [{ kind: 'variable', name: 'SERVICE_SERVER_GRPC_HOST' }, 'Did you mean SERVICE_GRPC_HOST?'],
    ]);
    expect(JSON.stringify(warnings)).not.toContain('hunter2');
  });
});

describe('defaults', () => {
  test('are those of the specification and the contract', () => {
    const { config, file, warnings } = loaded({});
    expect(config).toEqual({
      server: {
        http_bind_address: { host: '0.0.0.0', port: 9000 },
        grpc_host: '0.0.0.0',
        grpc_port: 50_052,
        max_connections: 100,
        first_request_timeout_ms: 10_000,
        drain_delay_ms: 0,
        shutdown_grace_ms: 10_000,
      },
      storage: {
        data_dir: undefined,
        parquet_path: undefined,
        duckdb_path: undefined,
        cache_size_gb: 1,
        disk_cache_bytes: 21_474_836_480,
        min_free_bytes: 0,
        conversion_timeout_ms: 600_000,
        max_conversion_bytes: 21_474_836_480,
      },
      compression: { algorithm: 'zstd', level: 3 },
      logging: {
        level: 'info',
        format: 'json',
        access: 'off',
        access_sample: 1,
        audit_file: undefined,
        slow_query_ms: undefined,
      },
      http: {
        max_upload_bytes: 10_737_418_240,
        max_lines_bytes: 104_857_600,
        max_rows: undefined,
        max_connections: 10_000,
        max_in_flight: 1000,
        min_body_bytes_per_second: 100,
        default_fmt: undefined,
        idle_timeout_ms: 60_000,
        keep_alive_ms: 65_000,
        compression: true,
        console: true,
        console_history: true,
        cors_origins: undefined,
        allowed_hosts: undefined,
      },
      auth: {
        mode: 'none',
        callers_file: undefined,
        jwks: undefined,
        jwt_issuer: undefined,
        jwt_audience: undefined,
        tenant_claim: 'tenant',
        permissions_claim: 'permissions',
        ca_file: undefined,
      },
      tls: {
        cert_file: undefined,
        key_file: undefined,
        min_version: '1.2',
        client_ca_file: undefined,
        client_certificates: 'optional',
      },
      sql: {
        default_engine: 'tsdb',
        timeout_ms: 60_000,
        memory_gb: 1,
        max_concurrent: 4,
        max_queued: 64,
        max_result_ms: undefined,
        max_result_bytes: undefined,
      },
      tsdb: {
        http_url: undefined,
        forward: 'sql',
        connect_timeout_ms: 2000,
        timeout_ms: 60_000,
        idle_timeout_ms: 30_000,
        user: undefined,
        password: undefined,
        token: undefined,
        ca_file: undefined,
      },
      metrics: { enabled: true, bind_address: undefined, tenant_label: false, max_tenants: 100 },
      scheduler: {
        url: undefined,
        token: undefined,
        ca_file: undefined,
        frames_url: undefined,
        read_file: undefined,
        timeout_ms: 600_000,
        max_concurrent: 8,
        max_queued: 64,
      },
      traces: {
        otlp_url: undefined,
        sample: 0.01,
        otlp_headers: undefined,
        ca_file: undefined,
        service_name: undefined,
        resource_attributes: undefined,
      },
      grpc: { max_message_bytes: 67_108_864, idle_timeout_ms: 600_000 },
    } satisfies Config);
    expect([file, warnings]).toEqual([undefined, []]);
  });

  test('have the types of the table', () => {
    const { config } = loaded({});
    expectTypeOf(config.server.grpc_port).toEqualTypeOf<number>();
    expectTypeOf(config.server.http_bind_address).toMatchObjectType<{ readonly host: string; readonly port: number }>();
    expectTypeOf(config.storage.data_dir).toEqualTypeOf<string | undefined>();
    expectTypeOf(config.logging.format).toEqualTypeOf<'text' | 'json'>();
    expectTypeOf(config.http.default_fmt).toEqualTypeOf<'json' | undefined>();
    expectTypeOf(config.http.cors_origins).toEqualTypeOf<readonly string[] | undefined>();
    expect(config.http.compression satisfies boolean).toBe(true);
  });

  test('the log format is text on a terminal', () => {
    expect(loaded({ isTerminal: true }).config.logging.format).toBe('text');
    expect(loaded({ isTerminal: true, env: { SERVICE_LOG_FORMAT: 'json' } }).config.logging.format).toBe('json');
  });

  test.each([
    ['127.0.0.1:9000', ['localhost', '127.0.0.1', '::1']],
    ['localhost:0', ['localhost', '127.0.0.1', '::1']],
    ['127.0.0.2:9000', ['localhost', '127.0.0.1', '::1', '127.0.0.2']],
    ['0.0.0.0:9000', undefined],
    ['[::]:9000', undefined],
    ['10.0.0.1:9000', undefined],
  ])('a listener on %s allows the hosts %j', (address, hosts) => {
    expect(loaded({ argv: ['--http-bind-address', address] }).config.http.allowed_hosts).toEqual(hosts);
  });

  test('data_dir gives the two paths that are not set', () => {
    const { config, sources } = loaded({ argv: ['--data-dir', './d', '--parquet-path', '/p'] });
    expect(config.storage).toMatchObject({
      data_dir: './d',
      parquet_path: '/p',
      duckdb_path: join('d', 'analytics.duckdb'),
    });
    expect(sources.storage.duckdb_path).toEqual({ kind: 'derived', from: 'storage.data_dir' });
    expect(loaded({ env: { SERVICE_DATA_DIR: '/d' } }).config.storage.parquet_path).toBe(join('/d', 'cold'));
  });
});

describe('problems', () => {
  test('of all sources are reported at once, each with source, value and hint', () => {
    const result = load({
      argv: ['--grpc-port', '70000', '--nope'],
      env: { SERVICE_LOG_LEVEL: 'loud' },
      toml: '[http]\nmax_rows = 0',
    });
    expect(result).toMatchObject({
      kind: 'problems',
      problems: [
        { source: { kind: 'flag', name: '--nope' } },
        {
          source: { kind: 'flag', name: '--grpc-port' },
          setting: 'server.grpc_port',
          value: '"70000"',
          message: 'server.grpc_port is "70000", but must be a whole number from 0 to 65535.',
          hint: 'For example: --grpc-port 50052',
        },
        {
          source: { kind: 'variable', name: 'SERVICE_LOG_LEVEL' },
          message: 'logging.level is "loud", but must be one of trace, debug, info, warn, error, off.',
          hint: 'For example: SERVICE_LOG_LEVEL=info',
        },
        {
          source: { kind: 'file', path: FILE, key: 'http.max_rows' },
          message: 'http.max_rows is 0, but must be a whole number from 1 to 9007199254740991.',
          hint: 'For example: max_rows = 100000',
        },
      ],
    });
  });

  test('are only about the value that wins', () => {
    const { config } = loaded({
      argv: ['--grpc-port', '1'],
      env: { SERVICE_GRPC_PORT: 'x' },
      toml: 'server.grpc_port = "y"',
    });
    expect(config.server.grpc_port).toBe(1);
  });

  test('never show a secret', () => {
    const result = load({ env: { SERVICE_TSDB_TOKEN: 'hunter2 hunter2', SERVICE_TSDB_HTTP_URL: 'http://db' } });
    expect(result).toMatchObject({ problems: [{ setting: 'tsdb.token', value: '***' }] });
    expect(JSON.stringify(result)).not.toContain('hunter2');
  });

  test('cut a long value', () => {
    const result = load({ env: { SERVICE_GRPC_HOST: `${'x'.repeat(10_000)}!` } });
    expect(result.kind === 'problems' && result.problems[0]?.value).toBe(`"${'x'.repeat(99)}…`);
  });

  test('are returned and never thrown', () => {
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom('=', '--', '--config', '-1', '~', '[', ']', '"', '.', '{a=', '\\', '\n'),
      fc.constantFrom(
        ...SETTING_ROWS.flatMap(({ setting: { flag }, section, key }) => [`--${flag}`, `[${section}]`, `${key}=`]),
      ),
    );
    const name = fc.constantFrom(
      ...SETTING_ROWS.flatMap((row) => names.variablesOf(row).map((variable) => variable.name)),
    );
    fc.assert(
      fc.property(fc.array(word), fc.dictionary(name, word), fc.array(word), (argv, env, words) => {
        expect(() => load({ argv, env, readFile: () => Buffer.from(words.join('')) })).not.toThrow();
      }),
      { numRuns: 500 },
    );
  });
});

const DB = { TSDB_HTTP_URL: 'https://db:9000' };
const [ROOT = '', OTHER_ROOT = ''] = rootCertificates;

/** Returns the problems of a configuration whose CA file has this content. */
function problemsOf(content: string | Buffer): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'svc-ca-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'ca.pem');
  writeFileSync(file, content);
  const env = { ...DB, SERVICE_TSDB_CA_FILE: file };
  const result = loadConfig({ name: 'service', argv: [], env, homeDir: '' });
  return result.kind === 'problems' ? result.problems.map(({ message }) => message.replace(file, 'FILE')) : [];
}

describe('tsdb.ca_file', () => {
  test.each([
    ['one certificate', ROOT],
    ['several', `# ours\n${ROOT}\n${OTHER_ROOT}\r\n`],
    ['a bundle of all there are', rootCertificates.join('\n')],
  ])('may hold %s', (_name, content) => {
    expect(problemsOf(content)).toEqual([]);
  });

  test.each([
    ['nothing', ''],
    ['something else', 'hello'],
    ['a certificate in DER form', Buffer.from(ROOT.replaceAll(/-----.*-----|\s/g, ''), 'base64')],
    ['half a certificate', ROOT.slice(0, 300)],
    ['a certificate and a broken one', `${ROOT}\n${OTHER_ROOT.replace('MII', 'AAA')}`],
    ['a key', '-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n'],
  ])('that holds %s is a problem', (_name, content) => {
    expect(problemsOf(content)).toEqual(['tsdb.ca_file is "FILE", which does not contain PEM certificates.']);
  });

  test('that is too large is a problem', () => {
    expect(problemsOf(' '.repeat(2 ** 20 + 1))).toEqual([
      'tsdb.ca_file is "FILE", which is larger than 1048576 bytes.',
    ]);
  });

  test('that is missing is a problem among the others', () => {
    const result = load({ env: { ...DB, SERVICE_TSDB_CA_FILE: '/none.pem', SERVICE_GRPC_PORT: 'x' } });
    expect(result).toMatchObject({
      kind: 'problems',
      problems: [
        { setting: 'server.grpc_port' },
        {
          setting: 'tsdb.ca_file',
          source: { kind: 'variable', name: 'SERVICE_TSDB_CA_FILE' },
          value: '"/none.pem"',
          message: 'tsdb.ca_file is "/none.pem", which cannot be read: there is no such file.',
        },
      ],
    });
  });

  test.each([
    [{}, 'tsdb.ca_file has no effect without tsdb.http_url.'],
    [{ TSDB_HTTP_URL: 'http://db:9000' }, 'tsdb.ca_file has no effect, because tsdb.http_url begins with http://.'],
  ])('with %j is a warning', (env, message) => {
    const { warnings } = loaded({ env: { ...env, SERVICE_TSDB_CA_FILE: CA_FILE } });
    expect(warnings.map((warning) => warning.message)).toEqual([message]);
  });
});
