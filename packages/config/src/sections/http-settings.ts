import { hostNames } from '../address.ts';
import { origins } from '../http-url.ts';
import { defaultHosts } from '../loopback.ts';
import { type Setting, setting } from '../setting.ts';
import { boolean, byteCount, bytesOrNone, choice, integer, timerMs } from '../value-type.ts';

/** The section `http`. */
export const HTTP_SETTINGS = {
  max_upload_bytes: setting({
    type: byteCount,
    default: 10 * 2 ** 30,
    description: 'Largest upload, over HTTP or gRPC, in bytes; the default is 10 GiB.',
    example: 10 * 2 ** 30,
  }),
  max_lines_bytes: setting({
    type: byteCount,
    default: 100 * 2 ** 20,
    description:
      'Largest request of line protocol (/write), in bytes; all such requests together use up to 4 times as much memory. The default is 100 MiB.',
    example: 100 * 2 ** 20,
  }),
  max_rows: setting({
    type: integer({ min: 1, max: Number.MAX_SAFE_INTEGER }, 'rows'),
    default: undefined,
    description: 'Maximum rows of one response; a larger limit is refused, never cut silently.',
    example: 100_000,
  }),
  max_connections: setting({
    type: integer({ min: 1, max: 1_000_000 }),
    default: 10_000,
    description:
      'Maximum concurrent connections of the HTTP listener; a further one takes the place of an idle one, and is closed at once if there is none. A tenth more are for other addresses if one has taken all.',
    example: 10_000,
  }),
  max_in_flight: setting({
    type: integer({ min: 1, max: 1_000_000 }, 'requests'),
    default: 1000,
    description:
      'Maximum HTTP requests in flight; further ones are refused, except health checks. If there are callers, a tenant may have three quarters of them.',
    example: 1000,
  }),
  min_body_bytes_per_second: setting({
    type: integer({ min: 0, max: 1_000_000_000 }, 'bytes'),
    default: 100,
    description:
      'Slowest rate at which a client may send a body or a gRPC upload, measured over http.idle_timeout_ms; a slower connection is closed, a slower call ends, 0 allows any rate.',
    example: 100,
  }),
  default_fmt: setting({
    type: choice(['json']),
    default: undefined,
    description: 'The format if the fmt parameter is missing, for tools that never send it.',
    example: 'json',
  }),
  idle_timeout_ms: setting({
    type: timerMs,
    default: 60_000,
    description: 'How long a client may pause while it reads a response or sends a body.',
    example: 60_000,
  }),
  keep_alive_ms: setting({
    type: timerMs,
    default: 65_000,
    description:
      'How long a connection may stay idle between two requests; keep it longer than the idle timeout of a load balancer in front.',
    example: 65_000,
  }),
  compression: setting({
    type: boolean(),
    default: true,
    description: 'Compress responses if the client accepts it; responses of the time-series database pass unchanged.',
    example: true,
  }),
  console: setting({
    type: boolean(),
    default: true,
    flag: 'http-console',
    description: 'Serve the console, a page for browsers, at /; otherwise only the list of paths is there.',
    example: false,
  }),
  console_history: setting({
    type: boolean(),
    default: true,
    description:
      'Let browsers remember the tabs and the history of the console; otherwise they forget them with the browser tab.',
    example: false,
  }),
  answer_cache_bytes: setting({
    type: bytesOrNone,
    default: 64 * 2 ** 20,
    description:
      'Memory of the cache for short responses and the rows in them, in bytes; the default is 64 MiB, 0 disables the cache.',
    example: 64 * 2 ** 20,
  }),
  cors_origins: setting({
    type: origins(),
    default: undefined,
    description:
      'Origins whose web pages may read responses, change frames and run SQL; comma-separated in a variable.',
    example: ['https://app.example.com', 'http://localhost:5173'],
  }),
  allowed_hosts: setting({
    type: hostNames(),
    default: undefined,
    derived: {
      describe: '`localhost`, `127.0.0.1`, `[::1]` and the bound address on a loopback listener, else any',
      from: 'server.http_bind_address',
      value: ({ httpHost }) => defaultHosts(httpHost),
    },
    description: 'Host names accepted in the Host header; other requests are refused. Comma-separated in a variable.',
    example: ['data.example.com', 'localhost'],
  }),
} as const satisfies Record<string, Setting>;
