import { isIPv4 } from 'node:net';
import { formatAddress } from '../address.ts';
import { isLoopback } from '../loopback.ts';
import type { Resolved } from '../resolve-settings.ts';
import { describeSource, type Finding, isGiven, type Source } from '../source.ts';
import type { Address } from '../value-type.ts';
import { schedulerProblems, schedulerWarnings } from './scheduler-checks.ts';

/** Problems and warnings about combinations of settings that are each valid. */
export interface Checked {
  readonly problems: readonly Finding[];
  readonly warnings: readonly Finding[];
}

/** Checks combinations of settings. */
export function checkTogether(resolved: Resolved): Checked {
  return {
    problems: [
      ...credentialProblems(resolved),
      ...authProblems(resolved),
      ...tlsProblems(resolved),
      ...schedulerProblems(resolved),
      ...sharedPort(resolved),
      ...sharedMetricsPort(resolved),
      ...ownAddress(resolved),
    ],
    warnings: [
      ...credentialWarnings(resolved),
      ...authWarnings(resolved),
      ...idleAuthority(resolved),
      ...schedulerWarnings(resolved),
      ...idleLevel(resolved),
      ...traceWarnings(resolved),
    ],
  };
}

function credentialProblems({ sources }: Resolved): readonly Finding[] {
  const { user, password, token } = sources.tsdb;
  const other = [user, password].find(isGiven);
  if (isGiven(token) && other !== undefined) {
    const named = other === user ? 'tsdb.user' : 'tsdb.password';
    return [
      {
        source: token,
        setting: 'tsdb.token',
        message: `tsdb.token is set together with ${named} (${describeSource(other)}).`,
        hint: 'Set either the token, or user and password.',
      },
    ];
  }
  if (!isGiven(password) || isGiven(user)) return [];
  return [
    {
      source: password,
      setting: 'tsdb.password',
      message: 'tsdb.password is set, but tsdb.user is not.',
      hint: 'Set tsdb.user too.',
    },
  ];
}

function credentialWarnings({ draft, sources: { tsdb } }: Resolved): readonly Finding[] {
  const warnings: Finding[] = [];
  if (isGiven(tsdb.user) && !isGiven(tsdb.password)) {
    warnings.push({
      source: tsdb.user,
      setting: 'tsdb.user',
      message: 'tsdb.user is set, but tsdb.password is not.',
      hint: 'Set tsdb.password, unless the user has an empty one.',
    });
  }
  for (const name of ['forward', 'user', 'password', 'token', 'ca_file'] as const) {
    const isDefault = name === 'forward' && draft.tsdb.forward === 'sql';
    if (isGiven(tsdb.http_url) || !isGiven(tsdb[name]) || isDefault) continue;
    warnings.push({
      source: tsdb[name],
      setting: `tsdb.${name}`,
      message: `tsdb.${name} has no effect without tsdb.http_url.`,
      hint: 'Set tsdb.http_url to the base URL of the time-series database.',
    });
  }
  return warnings;
}

/** Refuses contradictions between the settings of authentication, so that none of them is ignored. */
function authProblems(resolved: Resolved): readonly Finding[] {
  return [...modeProblems(resolved), ...jwtProblems(resolved)];
}

function modeProblems({ draft: { auth }, sources }: Resolved): readonly Finding[] {
  const { mode, callers_file: callersFile, jwks } = sources.auth;
  const first = [
    { name: 'auth.callers_file', source: callersFile },
    { name: 'auth.jwks', source: jwks },
  ].find(({ source }) => isGiven(source));
  if (auth.mode === 'required' && first === undefined) {
    return [
      {
        source: mode,
        setting: 'auth.mode',
        message: 'auth.mode is required, but no setting names a source of callers.',
        hint: 'Set auth.callers_file to the file of svc token create, or auth.jwks to the keys of an issuer.',
      },
    ];
  }
  if (auth.mode !== 'none' || first === undefined) return [];
  return [
    {
      source: mode,
      setting: 'auth.mode',
      message: `auth.mode is none, but ${first.name} is set (${describeSource(first.source)}).`,
      hint: `Remove auth.mode to require credentials, or remove ${first.name}.`,
    },
  ];
}

function jwtProblems({ sources: { auth } }: Resolved): readonly Finding[] {
  if (!isGiven(auth.jwks)) return [];
  return (['jwt_issuer', 'jwt_audience'] as const)
    .filter((name) => !isGiven(auth[name]))
    .map((name) => ({
      source: auth.jwks,
      setting: `auth.${name}`,
      message: `auth.jwks is set, but auth.${name} is not.`,
      hint: 'Set auth.jwt_issuer and auth.jwt_audience: other JWTs of the same issuer must not be accepted.',
    }));
}

/** Warns of settings that have no effect. */
function authWarnings({ draft, sources: { auth } }: Resolved): readonly Finding[] {
  const isIdle = { jwks: !isGiven(auth.jwks), url: draft.auth.jwks?.startsWith('https:') !== true };
  const idle = (['jwt_issuer', 'jwt_audience', 'ca_file'] as const).filter(
    (name) => isGiven(auth[name]) && (isIdle.jwks || (name === 'ca_file' && isIdle.url)),
  );
  return idle.map((name) => ({
    source: auth[name],
    setting: `auth.${name}`,
    message: `auth.${name} has no effect ${isIdle.jwks ? 'without auth.jwks' : 'because auth.jwks is a file'}.`,
    hint: 'Remove it, or set auth.jwks to the URL of the keys.',
  }));
}

function idleAuthority({ draft: { tsdb }, sources }: Resolved): readonly Finding[] {
  if (!isGiven(sources.tsdb.ca_file) || tsdb.http_url?.startsWith('http:') !== true) return [];
  return [
    {
      source: sources.tsdb.ca_file,
      setting: 'tsdb.ca_file',
      message: 'tsdb.ca_file has no effect, because tsdb.http_url begins with http://.',
      hint: 'Remove it, or set tsdb.http_url to an https:// URL.',
    },
  ];
}

/** Warns of settings that have no effect. Those of OpenTelemetry may be meant for other programs. */
function traceWarnings({ draft, sources: { traces } }: Resolved): readonly Finding[] {
  const url = draft.traces.otlp_url;
  const isOwn = (source: Source): boolean => source.kind !== 'variable' || !source.name.startsWith('OTEL_');
  const needed = isGiven(traces.otlp_url)
    ? (url?.startsWith('http:') ?? false)
      ? (['ca_file'] as const)
      : []
    : (['otlp_headers', 'ca_file', 'service_name', 'resource_attributes'] as const);
  return needed
    .filter((name) => isGiven(traces[name]) && isOwn(traces[name]))
    .map((name) => ({
      source: traces[name],
      setting: `traces.${name}`,
      message: `traces.${name} has no effect ${url === undefined ? 'without traces.otlp_url' : 'with an http:// URL'}.`,
      hint: 'Set traces.otlp_url to the base URL of an OpenTelemetry collector.',
    }));
}

function idleLevel({ draft: { compression }, sources }: Resolved): readonly Finding[] {
  const source = sources.compression.level;
  if (!isGiven(source) || compression.algorithm === undefined || compression.algorithm === 'zstd') return [];
  return [
    {
      source,
      setting: 'compression.level',
      message: `compression.level has no effect with the algorithm ${compression.algorithm}.`,
      hint: 'Remove it, or set compression.algorithm to zstd.',
    },
  ];
}

const ANY_HOSTS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

function sharedPort({ draft: { server }, sources }: Resolved): readonly Finding[] {
  const { http_bind_address: http, grpc_host: host, grpc_port: port } = server;
  if (http === undefined || host === undefined || port === undefined || !areClashing({ host, port }, http)) return [];
  return [
    {
      source: isGiven(sources.server.grpc_port) ? sources.server.grpc_port : sources.server.http_bind_address,
      setting: 'server.grpc_port',
      value: String(port),
      message: `server.grpc_port is ${port}, the port of server.http_bind_address (${formatAddress(http)}).`,
      hint: 'Give the two listeners different ports.',
    },
  ];
}

function sharedMetricsPort({ draft: { server, metrics }, sources }: Resolved): readonly Finding[] {
  const { http_bind_address: http, grpc_host: host, grpc_port: port } = server;
  const own = metrics.bind_address;
  if (own === undefined || metrics.enabled === false) return [];
  const grpc = host === undefined || port === undefined ? undefined : { host, port };
  const others = [
    ['server.http_bind_address', http],
    ['server.grpc_port', grpc],
  ] as const;
  return others.flatMap(([name, other]) => {
    if (other === undefined || !areClashing(own, other)) return [];
    return {
      source: sources.metrics.bind_address,
      setting: 'metrics.bind_address',
      value: formatAddress(own),
      message: `metrics.bind_address is ${formatAddress(own)}, with the port of ${name} (${formatAddress(other)}).`,
      hint: 'Give the listener of the metrics a port of its own, or remove the setting: the HTTP listener then answers /metrics.',
    };
  });
}

/** Whether two listeners cannot both have their address. The system chooses a free port for 0. */
function areClashing(a: Address, b: Address): boolean {
  return a.port !== 0 && a.port === b.port && (a.host === b.host || ANY_HOSTS.has(a.host) || ANY_HOSTS.has(b.host));
}

/** The server would forward SQL to itself in an endless loop. Both sides default to port 9000, so it does happen. */
function ownAddress({ draft: { server, tsdb }, sources }: Resolved): readonly Finding[] {
  if (server.http_bind_address === undefined || tsdb.http_url === undefined) return [];
  if (!reaches(tsdb.http_url, server.http_bind_address)) return [];
  return [
    {
      source: sources.tsdb.http_url,
      setting: 'tsdb.http_url',
      value: tsdb.http_url,
      message: `tsdb.http_url is "${tsdb.http_url}", the address of this server itself.`,
      hint: 'Set it to the time-series database, or give server.http_bind_address another port.',
    },
  ];
}

function reaches(url: string, { host, port }: Address): boolean {
  const { hostname, port: portText, protocol } = new URL(url);
  if (port !== Number(portText || (protocol === 'https:' ? 443 : 80))) return false;
  const named = hostname.replaceAll(/[[\]]/g, '');
  // A connection to the "any" address goes to this machine.
  const target = named === '0.0.0.0' ? '127.0.0.1' : named === '::' ? '::1' : named;
  if (target === host) return true;
  if (!isLoopback(target)) return false;
  if (target === 'localhost') return isLoopback(host) || ANY_HOSTS.has(host);
  return host === 'localhost' || host === '::' || (host === '0.0.0.0' && isIPv4(target));
}

/** Refuses settings without which the server would be less protected than another setting says. */
function tlsProblems(resolved: Resolved): readonly Finding[] {
  const { tls } = resolved.sources;
  const isRequired = resolved.draft.tls.client_certificates === 'required';
  return [
    ...(isGiven(tls.cert_file) ? [] : withoutCertificate(resolved)),
    ...(isGiven(tls.cert_file) && !isGiven(tls.key_file)
      ? [missing(resolved, 'cert_file', 'key_file', 'Set tls.key_file to the private key of the certificate.')]
      : []),
    ...(isRequired && !isGiven(tls.client_ca_file)
      ? [
          missing(
            resolved,
            'client_certificates',
            'client_ca_file',
            'Set tls.client_ca_file to the authorities that sign the certificates of clients.',
          ),
        ]
      : []),
  ];
}

function withoutCertificate(resolved: Resolved): readonly Finding[] {
  return (['key_file', 'client_ca_file'] as const)
    .filter((name) => isGiven(resolved.sources.tls[name]))
    .map((name) =>
      missing(resolved, name, 'cert_file', 'Set tls.cert_file and tls.key_file to a certificate and its private key.'),
    );
}

type TlsKey = keyof Resolved['sources']['tls'];

function missing({ sources }: Resolved, name: TlsKey, needed: TlsKey, hint: string): Finding {
  const message = `tls.${name} is set, but tls.${needed} is not.`;
  return { source: sources.tls[name], setting: `tls.${name}`, message, hint };
}
