import { describe, expect, test } from 'vitest';
import { CA_FILE, companyOf, FILE, loaded } from '../test/load-given.ts';
import { createServiceNames } from './environment.ts';
import { SETTING_ROWS } from './settings.ts';

type Nested = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

function valueAt(nested: Nested, path: string): unknown {
  const [section = '', key = ''] = path.split('.');
  return nested[section]?.[key];
}

/** For each setting: the text of a flag or variable, the same in TOML, and the value of both. */
const VALUES: Readonly<Record<string, readonly [text: string, toml: string, value: unknown]>> = {
  'server.http_bind_address': ['[::1]:8080', '"[::1]:8080"', { host: '::1', port: 8080 }],
  'server.grpc_host': ['localhost', '"localhost"', 'localhost'],
  'server.grpc_port': ['0', '0', 0],
  'server.max_connections': ['7', '7', 7],
  'server.first_request_timeout_ms': ['3000', '3000', 3000],
  'server.drain_delay_ms': ['5000', '5000', 5000],
  'server.shutdown_grace_ms': ['0', '0', 0],
  'storage.data_dir': ['/d', '"/d"', '/d'],
  'storage.parquet_path': ['/p', '"/p"', '/p'],
  'storage.duckdb_path': ['/a.duckdb', '"/a.duckdb"', '/a.duckdb'],
  'storage.cache_size_gb': ['2.5', '2.5', 2.5],
  'storage.disk_cache_bytes': ['0', '0', 0],
  'storage.min_free_bytes': ['1073741824', '1_073_741_824', 2 ** 30],
  'storage.conversion_timeout_ms': ['14', '14', 14],
  'storage.max_conversion_bytes': ['15', '15', 15],
  'compression.algorithm': ['LZ4', '"lz4"', 'lz4'],
  'compression.level': ['19', '19', 19],
  'logging.level': ['WARNING', '"Warn"', 'warn'],
  'logging.format': ['Text', '"text"', 'text'],
  'logging.access': ['All', '"all"', 'all'],
  'logging.access_sample': ['0.5', '0.5', 0.5],
  'logging.audit_file': ['/audit.log', '"/audit.log"', '/audit.log'],
  'logging.slow_query_ms': ['250', '250', 250],
  'metrics.enabled': ['off', 'false', false],
  'metrics.bind_address': ['127.0.0.1:9003', '"127.0.0.1:9003"', { host: '127.0.0.1', port: 9003 }],
  'metrics.tenant_label': ['on', 'true', true],
  'metrics.max_tenants': ['3', '3', 3],
  'http.max_upload_bytes': ['1024', '1_024', 1024],
  'http.max_lines_bytes': ['1024', '1_024', 1024],
  'http.max_rows': ['9007199254740991', '9007199254740991', Number.MAX_SAFE_INTEGER],
  'http.max_connections': ['8', '8', 8],
  'http.max_in_flight': ['9', '9', 9],
  'http.min_body_bytes_per_second': ['0', '0', 0],
  'http.default_fmt': ['json', '"json"', 'json'],
  'http.idle_timeout_ms': ['1', '1', 1],
  'http.keep_alive_ms': ['2', '2', 2],
  'http.compression': ['off', 'false', false],
  'http.console': ['off', 'false', false],
  'http.console_history': ['off', 'false', false],
  'http.cors_origins': [
    'https://a.example, http://b:81',
    '["https://a.example", "http://b:81"]',
    ['https://a.example', 'http://b:81'],
  ],
  'http.allowed_hosts': ['data.example, [::1]', '["data.example", "::1"]', ['data.example', '::1']],
  'auth.mode': ['None', '"none"', 'none'],
  'auth.callers_file': ['/c.toml', '"/c.toml"', '/c.toml'],
  'auth.jwks': ['https://a.example/jwks', '"https://a.example/jwks"', 'https://a.example/jwks'],
  'auth.jwt_issuer': ['https://a.example', '"https://a.example"', 'https://a.example'],
  'auth.jwt_audience': ['data', '"data"', 'data'],
  'auth.tenant_claim': ['org', '"org"', 'org'],
  'auth.permissions_claim': ['scope', '"scope"', 'scope'],
  'auth.ca_file': [CA_FILE, `"${CA_FILE}"`, CA_FILE],
  'tls.cert_file': ['/c.pem', '"/c.pem"', '/c.pem'],
  'tls.key_file': ['/k.pem', '"/k.pem"', '/k.pem'],
  'tls.min_version': ['1.3', '"1.3"', '1.3'],
  'tls.client_ca_file': ['/ca.pem', '"/ca.pem"', '/ca.pem'],
  'tls.client_certificates': ['Required', '"required"', 'required'],
  'sql.default_engine': ['local', '"local"', 'local'],
  'sql.timeout_ms': ['13', '13', 13],
  'sql.memory_gb': ['0.5', '0.5', 0.5],
  'sql.max_concurrent': ['2', '2', 2],
  'sql.max_queued': ['0', '0', 0],
  'sql.max_result_ms': ['16', '16', 16],
  'sql.max_result_bytes': ['17', '17', 17],
  'traces.otlp_url': ['http://c:4318/', '"http://c:4318/"', 'http://c:4318'],
  'traces.sample': ['0', '0', 0],
  'traces.otlp_headers': [
    'authorization=Bearer%20a=b, x-tenant = t',
    '["authorization=Bearer a=b", "x-tenant=t"]',
    ['authorization=Bearer a=b', 'x-tenant=t'],
  ],
  'traces.ca_file': [CA_FILE, `"${CA_FILE}"`, CA_FILE],
  'traces.service_name': ['frames', '"frames"', 'frames'],
  'traces.resource_attributes': ['a.b=c', '["a.b=c"]', ['a.b=c']],
  'tsdb.http_url': ['http://db:9000/', '"http://db:9000/"', 'http://db:9000'],
  'tsdb.forward': ['all', '"all"', 'all'],
  'tsdb.connect_timeout_ms': ['11', '11', 11],
  'tsdb.timeout_ms': ['12', '12', 12],
  'tsdb.idle_timeout_ms': ['2147483647', '2147483647', 2_147_483_647],
  'tsdb.user': ['ada', '"ada"', 'ada'],
  'tsdb.password': [' p w ', '" p w "', ' p w '],
  'tsdb.token': ['t0k', '"t0k"', 't0k'],
  'tsdb.ca_file': [CA_FILE, `"${CA_FILE}"`, CA_FILE],
  'scheduler.url': ['sc://spark', '"sc://spark"', 'sc://spark'],
  'scheduler.token': ['t1', '"t1"', 't1'],
  'scheduler.ca_file': [CA_FILE, `"${CA_FILE}"`, CA_FILE],
  'scheduler.frames_url': ['file:///f/', '"file:///f/"', 'file:///f'],
  'scheduler.read_file': ["r('{uri}')", `"r('{uri}')"`, "r('{uri}')"],
  'scheduler.timeout_ms': ['17', '17', 17],
  'scheduler.max_concurrent': ['18', '18', 18],
  'scheduler.max_queued': ['0', '0', 0],
  'grpc.max_message_bytes': ['65536', '65536', 65_536],
  'grpc.idle_timeout_ms': ['16', '16', 16],
};

const names = createServiceNames('service');
const rows = SETTING_ROWS.map((row) => ({
  ...row,
  values: VALUES[row.path] ?? (['', '', undefined] as const),
  company: companyOf(row),
}));
const flagged = rows.filter((row) => row.setting.flag !== undefined);
const variables = rows.flatMap((row) => names.variablesOf(row).map(({ name }) => ({ ...row, name })));

describe('every setting', () => {
  test('is in the table of this test', () => {
    expect(Object.keys(VALUES).toSorted()).toEqual(SETTING_ROWS.map((row) => row.path).toSorted());
  });

  test.each(rows)('$path is read from the file', ({ path, section, key, values: [, toml, value], company }) => {
    const result = loaded({ toml: `[${section}]\n${key} = ${toml}\n`, env: company });
    expect(valueAt(result.config, path)).toEqual(value);
    expect(valueAt(result.sources, path)).toEqual({ kind: 'file', path: FILE, key: path });
    expect(result.file).toBe(FILE);
  });

  test.each(variables)('$path is read from the variable $name', ({ path, name, values: [text, , value], company }) => {
    const result = loaded({ env: { ...company, [name]: text } });
    expect(valueAt(result.config, path)).toEqual(value);
    expect(valueAt(result.sources, path)).toEqual({ kind: 'variable', name });
  });

  test.each(flagged)('$path is read from its flag in both forms', ({ path, setting, values: [text, , value] }) => {
    for (const argv of [[`--${setting.flag}`, text], [`--${setting.flag}=${text}`]]) {
      const result = loaded({ argv });
      expect(valueAt(result.config, path)).toEqual(value);
      expect(valueAt(result.sources, path)).toEqual({ kind: 'flag', name: `--${setting.flag}` });
    }
  });

  test.each(flagged)('$path: flag wins over variable, variable over file, file over default', (row) => {
    const { path, section, key, setting } = row;
    const toml = `[${section}]\n${key} = ${row.values[1]}\n`;
    const argv = [`--${setting.flag}=${setting.type.toText(setting.example)}`];
    const env = { [names.variablesOf(row)[0]?.name ?? '']: row.values[0] };
    expect(valueAt(loaded({ toml, env, argv }).sources, path)).toMatchObject({ kind: 'flag' });
    expect(valueAt(loaded({ toml, env, argv }).config, path)).toEqual(setting.example);
    expect(valueAt(loaded({ toml, env }).sources, path)).toMatchObject({ kind: 'variable' });
    expect(valueAt(loaded({ toml }).sources, path)).toMatchObject({ kind: 'file' });
    expect(valueAt(loaded({}).sources, path)).toEqual({ kind: 'default' });
  });

  test.each(variables)('$path does not see an empty $name', ({ path, name }) => {
    expect(valueAt(loaded({ env: { [name]: '' } }).sources, path)).toEqual({ kind: 'default' });
  });
});
