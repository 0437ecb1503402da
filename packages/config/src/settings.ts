import { join } from 'node:path';
import { ACCESS_LOG_SETTINGS, METRICS_SETTINGS, TRACE_SETTINGS } from './sections/observability.ts';
import { AUTH_SETTINGS, HTTP_SETTINGS, TLS_SETTINGS } from './sections/clients.ts';
import { SCHEDULER_SETTINGS, TSDB_SETTINGS } from './sections/upstreams.ts';
import { type Setting, setting } from './setting.ts';
import {
  address,
  ANY_HOST,
  byteCount,
  bytesOrNone,
  choice,
  decimal,
  hostName,
  integer,
  levelFromRustLog,
  logLevel,
  MAX_TIMER_MS,
  path,
  timerMs,
} from './value-type.ts';

/** All settings, by section and key as in the TOML file. */
export const SETTINGS = {
  server: {
    http_bind_address: setting({
      type: address(),
      default: { host: ANY_HOST, port: 9000 },
      env: ['SERVICE_HTTP_BIND_ADDRESS'],
      flag: 'http-bind-address',
      description: 'Address and port the HTTP listener binds to; port 0 picks a free one.',
      example: { host: '127.0.0.1', port: 9000 },
    }),
    grpc_host: setting({
      type: hostName(),
      default: ANY_HOST,
      env: ['SERVICE_GRPC_HOST'],
      flag: 'grpc-host',
      description: 'Host the gRPC listener binds to.',
      example: '127.0.0.1',
    }),
    grpc_port: setting({
      type: integer({ min: 0, max: 65_535 }, 'port'),
      default: 50_052,
      env: ['SERVICE_GRPC_PORT'],
      flag: 'grpc-port',
      description: 'Port of the gRPC listener; 0 picks a free one.',
    }),
    max_connections: setting({
      type: integer({ min: 1, max: 1_000_000 }),
      default: 100,
      env: ['SERVICE_MAX_CONNECTIONS'],
      flag: 'max-connections',
      description:
        'Maximum concurrent connections of the gRPC listener; a further one is refused, open ones are not affected, except those without an accepted call so far. A tenth more are for other addresses if one has taken all.',
    }),
    first_request_timeout_ms: setting({
      type: timerMs,
      default: 10_000,
      description:
        'How long a new connection may take until its first request: over HTTP the TLS handshake and a complete head, over gRPC a call with valid credentials (any call, if authentication is off).',
    }),
    drain_delay_ms: setting({
      type: integer({ min: 0, max: MAX_TIMER_MS }, 'ms'),
      default: 0,
      description:
        'How long the server still accepts connections after SIGTERM or SIGINT, while its readiness probes already fail, so that load balancers stop sending requests first.',
      example: 5000,
    }),
    shutdown_grace_ms: setting({
      type: integer({ min: 0, max: MAX_TIMER_MS }, 'ms'),
      default: 10_000,
      description:
        'How long requests in flight may take to finish after SIGTERM or SIGINT and the drain delay, before they are cancelled.',
    }),
  },
  storage: {
    data_dir: setting({
      type: path('directory'),
      env: ['SERVICE_DATA_DIR'],
      flag: 'data-dir',
      description: 'Directory for all data of the server; the default parent of the two paths below.',
      example: '/data',
    }),
    parquet_path: setting({
      type: path('directory'),
      derived: {
        describe: '`<data_dir>/cold`',
        from: 'storage.data_dir',
        value: ({ dataDir }) => (dataDir === undefined ? undefined : join(dataDir, 'cold')),
      },
      env: ['SERVICE_PARQUET_PATH'],
      flag: 'parquet-path',
      description:
        'Directory of the frames, as Parquet files; without it they are kept in a temporary directory that is removed when the process exits.',
      example: '/data/cold',
    }),
    duckdb_path: setting({
      type: path('file'),
      derived: {
        describe: '`<data_dir>/analytics.duckdb`',
        from: 'storage.data_dir',
        value: ({ dataDir }) => (dataDir === undefined ? undefined : join(dataDir, 'analytics.duckdb')),
      },
      env: ['SERVICE_DUCKDB_PATH'],
      flag: 'duckdb-path',
      description: 'DuckDB database whose tables are read-only frames; created if it is missing.',
      example: '/data/analytics.duckdb',
    }),
    cache_size_gb: setting({
      type: decimal({ max: 1_000_000, unit: 'gigabytes' }),
      default: 1,
      env: ['SERVICE_CACHE_SIZE'],
      flag: 'cache-size',
      description:
        'Memory of the caches of frames and responses, in gigabytes of 10^9 bytes; a hard limit. A twelfth, at most 512 MiB, is for short responses and rows as text, the rest for frames. An evicted frame stays on disk.',
      example: 2,
    }),
    disk_cache_bytes: setting({
      type: bytesOrNone,
      default: 20 * 2 ** 30,
      description:
        'Disk space, in bytes, for all files that are derived from frames: decoded rows of frames that are larger than the cache in memory and are read repeatedly (in at most half of the free space), files that are encoded for downloads, and Parquet copies of other files in the frames folder. 0: no decoded rows, and 20 GiB for the other files.',
      example: 50 * 2 ** 30,
    }),
    min_free_bytes: setting({
      type: bytesOrNone,
      default: 0,
      description:
        'Free disk space, in bytes, below which readiness probes fail, so that load balancers send uploads elsewhere; requests are still answered.',
      example: 2 ** 30,
    }),
    conversion_timeout_ms: setting({
      type: timerMs,
      default: 600_000,
      description: 'How long the conversion of one uploaded CSV or Parquet file may take, from its start.',
    }),
    max_conversion_bytes: setting({
      type: byteCount,
      default: 20 * 2 ** 30,
      description:
        'Largest size on disk of a frame made from one uploaded CSV or Parquet file, of the rows of an upload when each has its own copy of the long values in dictionaries, and of a compressed file in the frames folder when it is decompressed, in bytes; the default is 20 GiB.',
    }),
  },
  compression: {
    algorithm: setting({
      type: choice(['zstd', 'snappy', 'gzip', 'lz4', 'none']),
      default: 'zstd',
      env: ['SERVICE_COMPRESSION'],
      description: 'Compression of the Parquet files.',
    }),
    level: setting({
      type: integer({ min: 1, max: 22 }),
      default: 3,
      env: ['SERVICE_COMPRESSION_LEVEL'],
      description: 'Compression level of zstd; the other algorithms have none.',
      example: 19,
    }),
  },
  logging: {
    level: setting({
      type: logLevel,
      default: 'info',
      env: ['SERVICE_LOG_LEVEL', { name: 'RUST_LOG', read: levelFromRustLog }],
      flag: 'log-level',
      description: 'The lowest level that is logged; only the global level of RUST_LOG counts.',
    }),
    format: setting({
      type: choice(['text', 'json']),
      default: 'json',
      derived: {
        describe: '`text` on a terminal, else `json`',
        value: ({ isTerminal }) => (isTerminal ? 'text' : undefined),
      },
      env: ['SERVICE_LOG_FORMAT'],
      flag: 'log-format',
      description: 'Format of the log lines: for people or for programs.',
    }),
    ...ACCESS_LOG_SETTINGS,
    audit_file: setting({
      type: path('file'),
      description:
        'File of the audit lines: who wrote or dropped what, and which credentials were refused. Default: the log.',
      example: '/var/log/service/audit.log',
    }),
    slow_query_ms: setting({
      type: integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
      description:
        'A statement that takes at least this many milliseconds, until its response is sent, is logged, without the values in its SQL. Default: none is.',
      example: 5000,
    }),
  },
  http: HTTP_SETTINGS,
  auth: AUTH_SETTINGS,
  tls: TLS_SETTINGS,
  sql: {
    default_engine: setting({
      type: choice(['tsdb', 'local', 'scheduler']),
      default: 'tsdb',
      description:
        'Engine for SQL requests that name none: the time-series database (tsdb), this server (local) or a cluster (scheduler).',
    }),
    timeout_ms: setting({
      type: timerMs,
      default: 60_000,
      description:
        'How long SQL over frames may take until its first rows, including time in the queue, and then until further rows.',
    }),
    memory_gb: setting({
      type: decimal({ max: 1_000_000, unit: 'gigabytes' }),
      default: 1,
      description: 'Memory limit of one query, in gigabytes of 10^9 bytes.',
    }),
    max_concurrent: setting({
      type: integer({ min: 1, max: 64 }),
      default: 4,
      description:
        'Maximum concurrent queries; each runs in a separate process. If there are callers, a tenant may have three quarters of them.',
    }),
    max_queued: setting({
      type: integer({ min: 0, max: 100_000 }),
      default: 64,
      description: 'Maximum queued queries; beyond that, a query of the client with the most queued is refused.',
    }),
    max_result_ms: setting({
      type: timerMs,
      description:
        'How long the result of a statement may be sent or stored, from its first rows, on any engine; then it is cut. Default: any time.',
      example: 600_000,
    }),
    max_result_bytes: setting({
      type: byteCount,
      description:
        'Largest result of a statement on any engine, in bytes of the response before compression, or of the rows to store; a longer one is cut. Default: any size.',
      example: 10 * 2 ** 30,
    }),
  },
  tsdb: TSDB_SETTINGS,
  metrics: METRICS_SETTINGS,
  scheduler: SCHEDULER_SETTINGS,
  traces: TRACE_SETTINGS,
  grpc: {
    max_message_bytes: setting({
      type: integer({ min: 1, max: 2 ** 31 - 1 }, 'bytes'),
      default: 64 * 2 ** 20,
      description: 'Largest message that the gRPC listener accepts, in bytes; the default is 64 MiB.',
    }),
    idle_timeout_ms: setting({
      type: timerMs,
      default: 600_000,
      description: 'How long a gRPC connection may stay open without a call; clients connect again by themselves.',
    }),
  },
} as const satisfies Record<string, Record<string, Setting>>;

/** A setting with its position in the table. */
export interface SettingRow {
  readonly section: string;
  readonly key: string;
  /** `section.key`. */
  readonly path: string;
  readonly setting: Setting;
}

/** The table as a list, in its order. */
export const SETTING_ROWS: readonly SettingRow[] = Object.entries(SETTINGS).flatMap(([section, rows]) =>
  Object.entries<Setting>(rows).map(([key, row]) => ({ section, key, path: `${section}.${key}`, setting: row })),
);

/** Settings of earlier versions, with what to do instead. */
export const REMOVED_SETTINGS: ReadonlyMap<string, string> = new Map([
  ['http.answer_cache_bytes', 'Short responses take a twelfth of storage.cache_size_gb.'],
]);

/** The sections, in the order of the table. */
export const SECTIONS: readonly string[] = Object.keys(SETTINGS);

/** The rows of one section. */
export function rowsOf(section: string): readonly SettingRow[] {
  return SETTING_ROWS.filter((row) => row.section === section);
}
