import * as v from 'valibot';
import { type Setting, setting } from '../setting.ts';
import {
  boolean,
  byteCount,
  choice,
  defaultHosts,
  hostNames,
  integer,
  matchingText,
  origins,
  path,
  plainText,
  timerMs,
  type ValueType,
} from '../value-type.ts';

/** The section `http`. */
export const HTTP_SETTINGS = {
  max_upload_bytes: setting({
    type: byteCount,
    default: 10 * 2 ** 30,
    description: 'Largest upload, over HTTP or gRPC, in bytes; the default is 10 GiB.',
  }),
  max_lines_bytes: setting({
    type: byteCount,
    default: 100 * 2 ** 20,
    description:
      'Largest request of line protocol (/write), in bytes; all such requests together use up to 4 times as much memory. The default is 100 MiB.',
  }),
  max_rows: setting({
    type: integer({ min: 1, max: Number.MAX_SAFE_INTEGER }, 'rows'),
    description: 'Maximum rows of one response; a larger limit is refused, never cut silently.',
    example: 100_000,
  }),
  max_connections: setting({
    type: integer({ min: 1, max: 1_000_000 }),
    default: 10_000,
    description:
      'Maximum concurrent connections of the HTTP listener; a further one takes the place of an idle one, and is closed at once if there is none. A tenth more are for other addresses if one has taken all.',
  }),
  max_in_flight: setting({
    type: integer({ min: 1, max: 1_000_000 }, 'requests'),
    default: 1000,
    description:
      'Maximum HTTP requests in flight; further ones are refused, except health checks. If there are callers, a tenant may have three quarters of them.',
  }),
  min_body_bytes_per_second: setting({
    type: integer({ min: 0, max: 1_000_000_000 }, 'bytes'),
    default: 100,
    description:
      'Slowest rate at which a client may send a body or a gRPC upload, measured over http.idle_timeout_ms; a slower connection is closed, a slower call ends, 0 allows any rate.',
  }),
  default_fmt: setting({
    type: choice(['json']),
    description: 'The format if the fmt parameter is missing, for tools that never send it.',
    example: 'json',
  }),
  idle_timeout_ms: setting({
    type: timerMs,
    default: 60_000,
    description: 'How long a client may pause while it reads a response or sends a body.',
  }),
  keep_alive_ms: setting({
    type: timerMs,
    default: 65_000,
    description:
      'How long a connection may stay idle between two requests; keep it longer than the idle timeout of a load balancer in front.',
  }),
  compression: setting({
    type: boolean(),
    default: true,
    description: 'Compress responses if the client accepts it; responses of the time-series database pass unchanged.',
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
  cors_origins: setting({
    type: origins(),
    description:
      'Origins whose web pages may read responses, change frames and run SQL; comma-separated in a variable.',
    example: ['https://app.example.com', 'http://localhost:5173'],
  }),
  allowed_hosts: setting({
    type: hostNames(),
    derived: {
      describe: '`localhost`, `127.0.0.1`, `[::1]` and the bound address on a loopback listener, else any',
      from: 'server.http_bind_address',
      value: ({ httpHost }) => defaultHosts(httpHost),
    },
    description: 'Host names accepted in the Host header; other requests are refused. Comma-separated in a variable.',
    example: ['data.example.com', 'localhost'],
  }),
} as const satisfies Record<string, Setting>;

/** The section `tls`. */
export const TLS_SETTINGS = {
  cert_file: setting({
    type: path('file'),
    description:
      'PEM file with the certificate of the server, then those of its intermediate authorities; with it, both listeners use TLS. Changes take effect within 5 seconds.',
    example: '/etc/service/tls/cert.pem',
  }),
  key_file: setting({
    type: path('file'),
    description: 'PEM file with the private key of tls.cert_file, not encrypted.',
    example: '/etc/service/tls/key.pem',
  }),
  min_version: setting({
    type: choice(['1.2', '1.3']),
    default: '1.2',
    description: 'The lowest version of TLS that clients may use.',
    example: '1.3',
  }),
  client_ca_file: setting({
    type: path('file'),
    description:
      'PEM file of the certificate authorities of clients; with it, clients are asked for a certificate, which can prove who they are. Changes take effect within 5 seconds.',
    example: '/etc/service/tls/client-ca.pem',
  }),
  client_certificates: setting({
    type: choice(['optional', 'required']),
    default: 'optional',
    description: 'Whether connections without a certificate of tls.client_ca_file are accepted.',
    example: 'required',
  }),
} as const satisfies Record<string, Setting>;

const JWKS_RULE = 'the path of a file, or a URL that begins with https://';

/** A file or a URL. Over http, anyone on the way could replace the keys. */
function fileOrHttpsUrl(): ValueType<string> {
  const schema = v.pipe(
    v.string(JWKS_RULE),
    v.regex(/^(?!http:)[^\p{Cc}\p{Cs}]*\S[^\p{Cc}\p{Cs}]*$/iu, JWKS_RULE),
    v.check((text) => !/^https:/i.test(text) || (URL.canParse(text) && /^https:\/\/[^@\s]*$/.test(text)), JWKS_RULE),
  );
  return { ...plainText('file|url', JWKS_RULE, schema), redact: (shown) => shown.replace(/^("?).*@/s, '$1***@') };
}

/** The name of a claim of a JWT. */
const claim = matchingText(
  'claim',
  'the name of a claim: visible ASCII characters without blanks',
  /^[\x21-\x7e]{1,200}$/,
);

/** The section `auth`. */
export const AUTH_SETTINGS = {
  mode: setting({
    type: choice(['none', 'required']),
    default: 'none',
    derived: {
      describe: '`required` if `auth.callers_file` or `auth.jwks` is set, else `none`',
      from: 'auth.callers_file or auth.jwks',
      value: ({ hasCallers }) => (hasCallers ? 'required' : undefined),
    },
    description: 'Whether requests need credentials.',
  }),
  callers_file: setting({
    type: path('file'),
    description: 'TOML file of the tokens, with their tenants and permissions; changes take effect within 5 seconds.',
    example: '/etc/service/callers.toml',
  }),
  jwks: setting({
    type: fileOrHttpsUrl(),
    description: 'Public keys of the issuer of JWTs (JWKS); with it, JWTs are accepted as credentials.',
    example: 'https://login.example.com/.well-known/jwks.json',
  }),
  jwt_issuer: setting({
    type: matchingText('text', 'a text of visible ASCII characters', /^[\x21-\x7e]+$/),
    description: 'The claim iss that JWTs must have.',
    example: 'https://login.example.com/',
  }),
  jwt_audience: setting({
    type: matchingText('text', 'a text of visible ASCII characters', /^[\x21-\x7e]+$/),
    description: 'The claim aud that JWTs must have.',
    example: 'svc',
  }),
  tenant_claim: setting({
    type: claim,
    default: 'tenant',
    description: 'The claim of a JWT that names the tenant.',
  }),
  permissions_claim: setting({
    type: claim,
    default: 'permissions',
    description: 'The claim of a JWT with the permissions: a list, or words in a text such as scope.',
    example: 'scope',
  }),
  ca_file: setting({
    type: path('file'),
    description:
      'PEM file of the certificate authorities that are trusted for auth.jwks, instead of the well-known ones.',
    example: '/etc/service/login-ca.pem',
  }),
} as const satisfies Record<string, Setting>;
