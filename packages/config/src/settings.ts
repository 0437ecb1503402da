import { join } from 'node:path';
import { address, ANY_HOST, hostName } from './address.ts';
import { HTTP_SETTINGS } from './http-settings.ts';
import { httpUrl } from './http-url.ts';
import { levelFromRustLog, logLevel } from './log-level.ts';
import { type Setting, setting } from './setting.ts';
import { byteCount, choice, decimal, integer, matchingText, MAX_TIMER_MS, path, timerMs } from './value-type.ts';

/** Every setting there is, by section and key as in the TOML file. */
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
      description: 'Connections the gRPC listener holds at once; one more is refused without disturbing the others.',
      example: 100,
    }),
    shutdown_grace_ms: setting({
      type: integer({ min: 0, max: MAX_TIMER_MS }, 'ms'),
      default: 10_000,
      description: 'How long running answers may take to finish after SIGTERM or SIGINT, before they are cancelled.',
      example: 10_000,
    }),
  },
  storage: {
    data_dir: setting({
      type: path('directory'),
      default: undefined,
      env: ['SERVICE_DATA_DIR'],
      flag: 'data-dir',
      description: 'Directory for everything the server keeps; gives the two paths below where they are not set.',
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
        'Directory of the frames, as Parquet files; without it they are in a temporary directory that ends with the process.',
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
      description: 'DuckDB database whose tables are read-only frames; made where it is missing.',
      example: '/data/analytics.duckdb',
    }),
    cache_size_gb: setting({
      type: decimal({ max: 1_000_000, unit: 'gigabytes' }),
      default: 1,
      env: ['SERVICE_CACHE_SIZE'],
      flag: 'cache-size',
      description:
        'Memory for frames that were put or read lately, in gigabytes of 10^9 bytes; never exceeded, and none is lost for it.',
      example: 2,
    }),
    conversion_timeout_ms: setting({
      type: timerMs,
      default: 600_000,
      description: 'How long it may take to make a frame of one CSV or Parquet file that was put, once that has begun.',
      example: 600_000,
    }),
    max_conversion_bytes: setting({
      type: byteCount,
      default: 20 * 2 ** 30,
      description:
        'Most bytes that a frame made of one CSV or Parquet file that was put may take on disk; the default is 20 GiB.',
      example: 20 * 2 ** 30,
    }),
  },
  compression: {
    algorithm: setting({
      type: choice(['zstd', 'snappy', 'gzip', 'lz4', 'none']),
      default: 'zstd',
      env: ['SERVICE_COMPRESSION'],
      description: 'How the Parquet files are compressed.',
      example: 'zstd',
    }),
    level: setting({
      type: integer({ min: 1, max: 22 }),
      default: 3,
      env: ['SERVICE_COMPRESSION_LEVEL'],
      description: 'How hard zstd tries; the other algorithms have no level.',
      example: 19,
    }),
  },
  logging: {
    level: setting({
      type: logLevel,
      default: 'info',
      env: ['SERVICE_LOG_LEVEL', { name: 'RUST_LOG', read: levelFromRustLog }],
      flag: 'log-level',
      description: 'The least important lines that are logged; of RUST_LOG the global level counts.',
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
      description: 'Log lines for people or for programs.',
      example: 'json',
    }),
  },
  http: HTTP_SETTINGS,
  sql: {
    default_engine: setting({
      type: choice(['tsdb', 'local', 'scheduler']),
      default: 'tsdb',
      description:
        'Who runs the SQL of a request that names no engine: the time-series database, or this server (local).',
      example: 'tsdb',
    }),
    timeout_ms: setting({
      type: timerMs,
      default: 60_000,
      description:
        'How long SQL over frames may take to its first rows, waiting for an engine included, and then to further ones.',
      example: 60_000,
    }),
    memory_gb: setting({
      type: decimal({ max: 1_000_000, unit: 'gigabytes' }),
      default: 1,
      description: 'Memory of one query, in gigabytes of 10^9 bytes.',
      example: 1,
    }),
    max_concurrent: setting({
      type: integer({ min: 1, max: 64 }),
      default: 4,
      description: 'How many queries run at once, each in a process of its own.',
      example: 4,
    }),
    max_queued: setting({
      type: integer({ min: 0, max: 100_000 }),
      default: 64,
      description: 'How many queries may wait for others to end; of more, one of the client with the most is refused.',
      example: 64,
    }),
  },
  tsdb: {
    http_url: setting({
      type: httpUrl(),
      default: undefined,
      env: ['SERVICE_TSDB_HTTP_URL', 'TSDB_HTTP_URL'],
      flag: 'tsdb-url',
      description: 'Base URL of the external time-series database; SQL is forwarded to it.',
      example: 'http://tsdb.example.com:9000',
    }),
    connect_timeout_ms: setting({
      type: timerMs,
      default: 2000,
      description: 'How long connecting to the time-series database may take.',
      example: 2000,
    }),
    timeout_ms: setting({
      type: timerMs,
      default: 60_000,
      description: 'How long the time-series database may take to begin its answer.',
      example: 60_000,
    }),
    idle_timeout_ms: setting({
      type: timerMs,
      default: 30_000,
      description: 'How long the time-series database may pause in the midst of its answer.',
      example: 30_000,
    }),
    user: setting({
      type: matchingText('user', 'a user name without colons and control characters', /^[^:\p{Cc}\p{Cs}]+$/u),
      default: undefined,
      description: 'User name for the time-series database.',
      example: 'reader',
    }),
    password: setting({
      type: matchingText(
        'password',
        'a password that is not empty and has no control characters',
        /^[^\p{Cc}\p{Cs}]+$/u,
      ),
      default: undefined,
      description: 'Password that goes with tsdb.user.',
      example: 'change-me',
      secret: true,
    }),
    token: setting({
      type: matchingText('token', 'a token of visible ASCII characters without blanks', /^[\x21-\x7e]+$/),
      default: undefined,
      description: 'Bearer token for the time-series database, instead of user and password.',
      example: 'change-me',
      secret: true,
    }),
    ca_file: setting({
      type: path('file'),
      default: undefined,
      description:
        'Certificates in PEM form: the authorities that are trusted, instead of the well-known ones, to sign that of the time-series database.',
      example: '/etc/service/tsdb-ca.pem',
    }),
  },
  grpc: {
    max_message_bytes: setting({
      type: integer({ min: 1, max: 2 ** 31 - 1 }, 'bytes'),
      default: 64 * 2 ** 20,
      description: 'Largest message the gRPC listener takes, in bytes; the default is 64 MiB.',
      example: 64 * 2 ** 20,
    }),
  },
} as const satisfies Record<string, Record<string, Setting>>;
