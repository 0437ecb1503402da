import * as v from 'valibot';
import { schedulerUrl } from '../scheduler-url.ts';
import { type Setting, setting } from '../setting.ts';
import { choice, httpUrl, integer, matchingText, path, plainText, timerMs, type ValueType } from '../value-type.ts';

/** The section `tsdb`. */
export const TSDB_SETTINGS = {
  http_url: setting({
    type: httpUrl(),
    env: ['SERVICE_TSDB_HTTP_URL', 'TSDB_HTTP_URL'],
    flag: 'tsdb-url',
    description: 'Base URL of the external time-series database; SQL is forwarded to it.',
    example: 'http://tsdb.example.com:9000',
  }),
  forward: setting({
    type: choice(['sql', 'all']),
    default: 'sql',
    description:
      'What is forwarded to the time-series database: SQL (sql), or every path that this server does not have, too, with its method and body (all), for its own tools.',
  }),
  connect_timeout_ms: setting({
    type: timerMs,
    default: 2000,
    description: 'How long a connection attempt to the time-series database may take.',
  }),
  timeout_ms: setting({
    type: timerMs,
    default: 60_000,
    description: 'How long the time-series database may take to start its response.',
  }),
  idle_timeout_ms: setting({
    type: timerMs,
    default: 30_000,
    description: 'How long the time-series database may pause during its response.',
  }),
  user: setting({
    type: matchingText('user', 'a user name without colons and control characters', /^[^:\p{Cc}\p{Cs}]+$/u),
    description: 'User name for the time-series database.',
    example: 'reader',
  }),
  password: setting({
    type: matchingText('password', 'a password that is not empty and has no control characters', /^[^\p{Cc}\p{Cs}]+$/u),
    description: 'Password of tsdb.user.',
    example: 'change-me',
    secret: true,
  }),
  token: setting({
    type: matchingText('token', 'a token of visible ASCII characters without blanks', /^[\x21-\x7e]+$/),
    description: 'Bearer token for the time-series database, instead of user and password.',
    example: 'change-me',
    secret: true,
  }),
  ca_file: setting({
    type: path('file'),
    description:
      'PEM file of the certificate authorities that are trusted for the time-series database, instead of the well-known ones.',
    example: '/etc/service/tsdb-ca.pem',
  }),
} as const satisfies Record<string, Setting>;

const FRAMES_EXPECTED = 'a URL such as file:///srv/frames or s3://bucket/frames, without a query (%20 for a blank)';

/** A scheme, a host unless it is a file, and a path whose escapes are complete. */
const FRAMES_URL =
  /^(?:file:\/\/(?=\/)|(?!file:)[a-z][a-z\d+.-]*:\/\/[^/@?#%\s]+(?=\/|$))(?:%[\da-f]{2}|[^?#%\s\p{Cc}\p{Cs}])*$/iu;

/** Where a cluster finds the directory of the frames. A slash at its end is removed. */
function framesUrl(): ValueType<string> {
  const schema = v.pipe(
    v.string(FRAMES_EXPECTED),
    v.trim(),
    v.regex(FRAMES_URL, FRAMES_EXPECTED),
    v.transform((text) => text.replace(/\/+$/, '')),
  );
  return plainText('url', FRAMES_EXPECTED, schema);
}

/** One `{uri}` inside of quotes, after any number of complete quotes. */
const READ_FILE =
  /^(?!.*\{uri\}.*\{uri\})(?=[^\p{Cc}\p{Cs}]+$)(?:[^'"`]|'[^']*'|"[^"]*"|`[^`]*`)*(['"`])(?:(?!\1).)*\{uri\}(?:(?!\1).)*\1/u;

/** The section `scheduler`. */
export const SCHEDULER_SETTINGS = {
  url: setting({
    type: schedulerUrl(),
    description:
      'Cluster that runs SQL with engine=scheduler over the frames: sc:// (Spark Connect), grpc:// or grpc+tls:// (Flight SQL).',
    example: 'sc://spark.example.com:15002',
  }),
  token: setting({
    type: matchingText('token', 'a token of visible ASCII characters without blanks', /^[\x21-\x7e]+$/),
    description: 'Bearer token for the cluster.',
    example: 'change-me',
    secret: true,
  }),
  ca_file: setting({
    type: path('file'),
    description:
      'PEM file of the certificate authorities that are trusted for the cluster, instead of the well-known ones.',
    example: '/etc/service/cluster-ca.pem',
  }),
  frames_url: setting({
    type: framesUrl(),
    description:
      'How the cluster names the directory of storage.parquet_path. Default: as this server does, with file:// before it.',
    example: 'file:///mnt/frames',
  }),
  read_file: setting({
    type: matchingText('sql', "SQL with {uri} in quotes, once, such as read_parquet('{uri}')", READ_FILE),
    description:
      'How an engine behind Flight SQL reads a file, with {uri} for its address. Default: it reads none, and the tables are its own.',
    example: "read_parquet('{uri}')",
  }),
  timeout_ms: setting({
    type: timerMs,
    default: 600_000,
    description:
      'How long SQL on the cluster may take until its first rows, including time in the queue, and then until further rows.',
  }),
  max_concurrent: setting({
    type: integer({ min: 1, max: 1000 }),
    default: 8,
    description:
      'Maximum concurrent statements on the cluster. If there are callers, a tenant may have three quarters of them.',
  }),
  max_queued: setting({
    type: integer({ min: 0, max: 100_000 }),
    default: 64,
    description: 'Maximum queued statements for the cluster; further ones are refused.',
  }),
} as const satisfies Record<string, Setting>;
