import { join } from 'node:path';
import { address, ANY_HOST, hostName } from './address.ts';
import { ACCESS_LOG_SETTINGS } from './sections/access-log-settings.ts';
import { AUTH_SETTINGS } from './sections/auth-settings.ts';
import { HTTP_SETTINGS } from './sections/http-settings.ts';
import { METRICS_SETTINGS } from './sections/metrics-settings.ts';
import { SCHEDULER_SETTINGS } from './sections/scheduler-settings.ts';
import { levelFromRustLog, logLevel } from './log-level.ts';
import { type Setting, setting } from './setting.ts';
import { TRACE_SETTINGS } from './sections/trace-settings.ts';
import { TLS_SETTINGS } from './sections/tls-settings.ts';
import { TSDB_SETTINGS } from './sections/tsdb-settings.ts';
import { byteCount, bytesOrNone, choice, decimal, integer, MAX_TIMER_MS, path, timerMs } from './value-type.ts';

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
      example: 50_052,
    }),
    max_connections: setting({
      type: integer({ min: 1, max: 1_000_000 }),
      default: 100,
      env: ['SERVICE_MAX_CONNECTIONS'],
      flag: 'max-connections',
      description:
        'Maximum concurrent connections of the gRPC listener; a further one is refused, open ones are not affected, except those without an accepted call so far. A tenth more are for other addresses if one has taken all.',
      example: 100,
    }),
    first_request_timeout_ms: setting({
      type: timerMs,
      default: 10_000,
      description:
        'How long a new connection may take until its first request: over HTTP the TLS handshake and a complete head, over gRPC a call with valid credentials (any call, if authentication is off).',
      example: 10_000,
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
      example: 10_000,
    }),
  },
  storage: {
    data_dir: setting({
      type: path('directory'),
      default: undefined,
      env: ['SERVICE_DATA_DIR'],
      flag: 'data-dir',
      description: 'Directory for all data of the server; the default parent of the two paths below.',
      example: '/data',
    }),
    parquet_path: setting({
      type: path('directory'),
      default: undefined,
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
      default: undefined,
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
        'Memory of the frame cache, in gigabytes of 10^9 bytes; a hard limit. An evicted frame stays on disk.',
      example: 2,
    }),
    disk_cache_bytes: setting({
      type: bytesOrNone,
      default: 10 * 2 ** 30,
      description:
        'Disk space, in bytes, for frames that are larger than the frame cache and are read repeatedly: their rows are kept decoded in the temporary directory, in at most half of the space that is free there. 0 turns this off; the default is 10 GiB.',
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
      example: 600_000,
    }),
    max_conversion_bytes: setting({
      type: byteCount,
      default: 20 * 2 ** 30,
      description:
        'Largest size on disk of a frame made from one uploaded CSV or Parquet file, of the rows of an upload when each has its own copy of the long values in dictionaries, of all files together that are encoded for downloads, of all Parquet copies together of files in the frames folder, and of a compressed file in the frames folder when it is decompressed, in bytes; the default is 20 GiB.',
      example: 20 * 2 ** 30,
    }),
  },
  compression: {
    algorithm: setting({
      type: choice(['zstd', 'snappy', 'gzip', 'lz4', 'none']),
      default: 'zstd',
      env: ['SERVICE_COMPRESSION'],
      description: 'Compression of the Parquet files.',
      example: 'zstd',
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
      example: 'info',
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
      example: 'json',
    }),
    ...ACCESS_LOG_SETTINGS,
    audit_file: setting({
      type: path('file'),
      default: undefined,
      description:
        'File of the audit lines: who wrote or dropped what, and which credentials were refused. Default: the log.',
      example: '/var/log/service/audit.log',
    }),
    slow_query_ms: setting({
      type: integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
      default: undefined,
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
      example: 'tsdb',
    }),
    timeout_ms: setting({
      type: timerMs,
      default: 60_000,
      description:
        'How long SQL over frames may take until its first rows, including time in the queue, and then until further rows.',
      example: 60_000,
    }),
    memory_gb: setting({
      type: decimal({ max: 1_000_000, unit: 'gigabytes' }),
      default: 1,
      description: 'Memory limit of one query, in gigabytes of 10^9 bytes.',
      example: 1,
    }),
    max_concurrent: setting({
      type: integer({ min: 1, max: 64 }),
      default: 4,
      description:
        'Maximum concurrent queries; each runs in a separate process. If there are callers, a tenant may have three quarters of them.',
      example: 4,
    }),
    max_queued: setting({
      type: integer({ min: 0, max: 100_000 }),
      default: 64,
      description: 'Maximum queued queries; beyond that, a query of the client with the most queued is refused.',
      example: 64,
    }),
    max_result_ms: setting({
      type: timerMs,
      default: undefined,
      description:
        'How long the result of a statement may be sent or stored, from its first rows, on any engine; then it is cut. Default: any time.',
      example: 600_000,
    }),
    max_result_bytes: setting({
      type: byteCount,
      default: undefined,
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
      example: 64 * 2 ** 20,
    }),
    idle_timeout_ms: setting({
      type: timerMs,
      default: 600_000,
      description: 'How long a gRPC connection may stay open without a call; clients connect again by themselves.',
      example: 600_000,
    }),
  },
} as const satisfies Record<string, Record<string, Setting>>;
