import { httpUrl } from '../http-url.ts';
import { type Setting, setting } from '../setting.ts';
import { choice, matchingText, path, timerMs } from '../value-type.ts';

/** The section `tsdb`. */
export const TSDB_SETTINGS = {
  http_url: setting({
    type: httpUrl(),
    default: undefined,
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
    example: 'sql',
  }),
  connect_timeout_ms: setting({
    type: timerMs,
    default: 2000,
    description: 'How long a connection attempt to the time-series database may take.',
    example: 2000,
  }),
  timeout_ms: setting({
    type: timerMs,
    default: 60_000,
    description: 'How long the time-series database may take to start its response.',
    example: 60_000,
  }),
  idle_timeout_ms: setting({
    type: timerMs,
    default: 30_000,
    description: 'How long the time-series database may pause during its response.',
    example: 30_000,
  }),
  user: setting({
    type: matchingText('user', 'a user name without colons and control characters', /^[^:\p{Cc}\p{Cs}]+$/u),
    default: undefined,
    description: 'User name for the time-series database.',
    example: 'reader',
  }),
  password: setting({
    type: matchingText('password', 'a password that is not empty and has no control characters', /^[^\p{Cc}\p{Cs}]+$/u),
    default: undefined,
    description: 'Password of tsdb.user.',
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
      'PEM file of the certificate authorities that are trusted for the time-series database, instead of the well-known ones.',
    example: '/etc/service/tsdb-ca.pem',
  }),
} as const satisfies Record<string, Setting>;
