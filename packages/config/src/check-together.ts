import { isIPv4 } from 'node:net';
import type { Resolved, Sources } from './resolve-settings.ts';
import { parseSchedulerUrl, type SchedulerUrl } from './scheduler-url.ts';
import { describeSource, type Finding, isGiven, type Source } from './source.ts';
import { type Address, formatAddress, isLoopback } from './value-type.ts';

/** What is wrong with settings together, each valid alone. */
interface Checked {
  readonly problems: readonly Finding[];
  readonly warnings: readonly Finding[];
}

/** Checks combinations of settings. */
export function checkTogether(resolved: Resolved): Checked {
  return {
    problems: [
      ...credentialProblems(resolved),
      ...modeProblems(resolved),
      ...jwtProblems(resolved),
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

type Path = { [Section in keyof Sources]: `${Section}.${Extract<keyof Sources[Section], string>}` }[keyof Sources];

function sourceOf({ sources }: Resolved, path: Path): Source {
  const nested: Readonly<Record<string, Readonly<Record<string, Source>>>> = sources;
  const [section = '', key = ''] = path.split('.');
  return nested[section]?.[key] ?? { kind: 'default' };
}

function isSet(resolved: Resolved, path: Path): boolean {
  return isGiven(sourceOf(resolved, path));
}

/** A finding about a setting, at its source. */
function about(resolved: Resolved, path: Path, message: string, hint: string): Finding {
  return { source: sourceOf(resolved, path), setting: path, message, hint };
}

function credentialProblems(resolved: Resolved): readonly Finding[] {
  const first = (['tsdb.user', 'tsdb.password'] as const).find((path) => isSet(resolved, path));
  if (first !== undefined && isSet(resolved, 'tsdb.token')) {
    const message = `tsdb.token is set together with ${first} (${describeSource(sourceOf(resolved, first))}).`;
    return [about(resolved, 'tsdb.token', message, 'Set either the token, or user and password.')];
  }
  if (first !== 'tsdb.password') return [];
  return [about(resolved, first, 'tsdb.password is set, but tsdb.user is not.', 'Set tsdb.user too.')];
}

function credentialWarnings(resolved: Resolved): readonly Finding[] {
  const warnings: Finding[] = [];
  if (isSet(resolved, 'tsdb.user') && !isSet(resolved, 'tsdb.password')) {
    const hint = 'Set tsdb.password, unless the user has an empty one.';
    warnings.push(about(resolved, 'tsdb.user', 'tsdb.user is set, but tsdb.password is not.', hint));
  }
  if (isSet(resolved, 'tsdb.http_url')) return warnings;
  for (const path of ['tsdb.forward', 'tsdb.user', 'tsdb.password', 'tsdb.token', 'tsdb.ca_file'] as const) {
    const isDefault = path === 'tsdb.forward' && resolved.draft.tsdb.forward === 'sql';
    if (!isSet(resolved, path) || isDefault) continue;
    const hint = 'Set tsdb.http_url to the base URL of the time-series database.';
    warnings.push(about(resolved, path, `${path} has no effect without tsdb.http_url.`, hint));
  }
  return warnings;
}

/** Refuses a mode against the sources of callers: neither is ignored. */
function modeProblems(resolved: Resolved): readonly Finding[] {
  const { mode } = resolved.draft.auth;
  const first = (['auth.callers_file', 'auth.jwks'] as const).find((path) => isSet(resolved, path));
  if (mode === 'required' && first === undefined) {
    const message = 'auth.mode is required, but no setting names a source of callers.';
    const hint = 'Set auth.callers_file to the file of svc token create, or auth.jwks to the keys of an issuer.';
    return [about(resolved, 'auth.mode', message, hint)];
  }
  if (mode !== 'none' || first === undefined) return [];
  const message = `auth.mode is none, but ${first} is set (${describeSource(sourceOf(resolved, first))}).`;
  return [about(resolved, 'auth.mode', message, `Remove auth.mode to require credentials, or remove ${first}.`)];
}

function jwtProblems(resolved: Resolved): readonly Finding[] {
  if (!isSet(resolved, 'auth.jwks')) return [];
  const hint = 'Set auth.jwt_issuer and auth.jwt_audience: other JWTs of the same issuer must not be accepted.';
  return (['auth.jwt_issuer', 'auth.jwt_audience'] as const)
    .filter((path) => !isSet(resolved, path))
    .map((path) => ({
      ...about(resolved, path, `auth.jwks is set, but ${path} is not.`, hint),
      source: resolved.sources.auth.jwks,
    }));
}

function authWarnings(resolved: Resolved): readonly Finding[] {
  const isWithout = !isSet(resolved, 'auth.jwks');
  const isUrl = resolved.draft.auth.jwks?.startsWith('https:') === true;
  const reason = isWithout ? 'without auth.jwks' : 'because auth.jwks is a file';
  return (['auth.jwt_issuer', 'auth.jwt_audience', 'auth.ca_file'] as const)
    .filter((path) => isSet(resolved, path) && (isWithout || (path === 'auth.ca_file' && !isUrl)))
    .map((path) =>
      about(resolved, path, `${path} has no effect ${reason}.`, 'Remove it, or set auth.jwks to the URL of the keys.'),
    );
}

function idleAuthority(resolved: Resolved): readonly Finding[] {
  if (!isSet(resolved, 'tsdb.ca_file') || resolved.draft.tsdb.http_url?.startsWith('http:') !== true) return [];
  const message = 'tsdb.ca_file has no effect, because tsdb.http_url begins with http://.';
  return [about(resolved, 'tsdb.ca_file', message, 'Remove it, or set tsdb.http_url to an https:// URL.')];
}

/** The variables of OpenTelemetry may be meant for other programs. */
function traceWarnings(resolved: Resolved): readonly Finding[] {
  const url = resolved.draft.traces.otlp_url;
  const isOwn = (source: Source): boolean => source.kind !== 'variable' || !source.name.startsWith('OTEL_');
  const all = ['traces.otlp_headers', 'traces.ca_file', 'traces.service_name', 'traces.resource_attributes'] as const;
  const isPlain = url?.startsWith('http:') === true;
  const idle = isSet(resolved, 'traces.otlp_url') ? (isPlain ? (['traces.ca_file'] as const) : []) : all;
  const reason = url === undefined ? 'without traces.otlp_url' : 'with an http:// URL';
  const hint = 'Set traces.otlp_url to the base URL of an OpenTelemetry collector.';
  return idle
    .filter((path) => isSet(resolved, path) && isOwn(sourceOf(resolved, path)))
    .map((path) => about(resolved, path, `${path} has no effect ${reason}.`, hint));
}

function idleLevel(resolved: Resolved): readonly Finding[] {
  const { algorithm } = resolved.draft.compression;
  if (!isSet(resolved, 'compression.level') || algorithm === undefined || algorithm === 'zstd') return [];
  const message = `compression.level has no effect with the algorithm ${algorithm}.`;
  return [about(resolved, 'compression.level', message, 'Remove it, or set compression.algorithm to zstd.')];
}

const ANY_HOSTS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

function sharedPort(resolved: Resolved): readonly Finding[] {
  const { http_bind_address: http, grpc_host: host, grpc_port: port } = resolved.draft.server;
  if (http === undefined || host === undefined || port === undefined || !areClashing({ host, port }, http)) return [];
  const message = `server.grpc_port is ${port}, the port of server.http_bind_address (${formatAddress(http)}).`;
  const finding = about(resolved, 'server.grpc_port', message, 'Give the two listeners different ports.');
  const source = isGiven(finding.source) ? finding.source : sourceOf(resolved, 'server.http_bind_address');
  return [{ ...finding, source, value: String(port) }];
}

function sharedMetricsPort(resolved: Resolved): readonly Finding[] {
  const { server, metrics } = resolved.draft;
  const { http_bind_address: http, grpc_host: host, grpc_port: port } = server;
  const own = metrics.bind_address;
  if (own === undefined || metrics.enabled === false) return [];
  const grpc = host === undefined || port === undefined ? undefined : { host, port };
  const others = [
    ['server.http_bind_address', http],
    ['server.grpc_port', grpc],
  ] as const;
  const hint =
    'Give the listener of the metrics a port of its own, or remove the setting: the HTTP listener then answers /metrics.';
  return others.flatMap(([name, other]) => {
    if (other === undefined || !areClashing(own, other)) return [];
    const message = `metrics.bind_address is ${formatAddress(own)}, with the port of ${name} (${formatAddress(other)}).`;
    return { ...about(resolved, 'metrics.bind_address', message, hint), value: formatAddress(own) };
  });
}

/** True if two listeners cannot both have their address. The system chooses a free port for 0. */
function areClashing(a: Address, b: Address): boolean {
  return a.port !== 0 && a.port === b.port && (a.host === b.host || ANY_HOSTS.has(a.host) || ANY_HOSTS.has(b.host));
}

/** The server would forward SQL to itself in an endless loop. Both sides default to port 9000, so it does happen. */
function ownAddress(resolved: Resolved): readonly Finding[] {
  const { server, tsdb } = resolved.draft;
  if (server.http_bind_address === undefined || tsdb.http_url === undefined) return [];
  if (!reaches(tsdb.http_url, server.http_bind_address)) return [];
  const message = `tsdb.http_url is "${tsdb.http_url}", the address of this server itself.`;
  const hint = 'Set it to the time-series database, or give server.http_bind_address another port.';
  return [{ ...about(resolved, 'tsdb.http_url', message, hint), value: tsdb.http_url }];
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

/** Refuses settings of TLS without a needed one: the server would be less protected than they say. */
function tlsProblems(resolved: Resolved): readonly Finding[] {
  const isRequired = resolved.draft.tls.client_certificates === 'required';
  const pair = 'Set tls.cert_file and tls.key_file to a certificate and its private key.';
  const key = 'Set tls.key_file to the private key of the certificate.';
  const authorities = 'Set tls.client_ca_file to the authorities that sign the certificates of clients.';
  const needs: readonly (readonly [path: Path, needed: Path, hint: string])[] = [
    ['tls.key_file', 'tls.cert_file', pair],
    ['tls.client_ca_file', 'tls.cert_file', pair],
    ['tls.cert_file', 'tls.key_file', key],
    ['tls.client_certificates', 'tls.client_ca_file', authorities],
  ];
  return needs
    .filter(([path, needed]) => !isSet(resolved, needed) && isSet(resolved, path))
    .filter(([path]) => path !== 'tls.client_certificates' || isRequired)
    .map(([path, needed, hint]) => about(resolved, path, `${path} is set, but ${needed} is not.`, hint));
}

/** Refuses contradictory settings of a cluster, and those to open it to the network. */
function schedulerProblems(resolved: Resolved): readonly Finding[] {
  const { url } = resolved.draft.scheduler;
  if (url === undefined) return [];
  const parsed = parseSchedulerUrl(url);
  return [...tokenProblems(resolved, parsed), ...fileProblems(resolved, parsed), ...openProblems(resolved)];
}

function tokenProblems(resolved: Resolved, url: SchedulerUrl): readonly Finding[] {
  const hasToken = isSet(resolved, 'scheduler.token');
  if (hasToken && url.token !== undefined) {
    const message = 'scheduler.token is set, and scheduler.url has a token too.';
    return [about(resolved, 'scheduler.token', message, 'Remove the token from the URL.')];
  }
  if ((!hasToken && url.token === undefined) || url.hasTls || isLoopback(url.host)) return [];
  const isSpark = url.protocol === 'spark-connect';
  const hint = isSpark ? 'Add /;use_ssl=true to the URL.' : 'Write grpc+tls:// instead of grpc:// in the URL.';
  const message = 'scheduler.url is not encrypted, and a token would be sent in the clear.';
  return [about(resolved, 'scheduler.url', message, hint)];
}

function fileProblems(resolved: Resolved, { protocol }: SchedulerUrl): readonly Finding[] {
  const isSpark = protocol === 'spark-connect';
  const hasReadFile = isSet(resolved, 'scheduler.read_file');
  if (isSpark && hasReadFile) {
    const message = 'scheduler.read_file is set, but scheduler.url is sc://, which needs none.';
    return [about(resolved, 'scheduler.read_file', message, 'Remove it.')];
  }
  if ((!isSpark && !hasReadFile) || resolved.draft.storage.parquet_path !== undefined) return [];
  const message = 'scheduler.url is set, but the frames are in a temporary directory, which no cluster can read.';
  const hint = 'Set storage.data_dir (--data-dir) to a directory that the cluster reads too.';
  return [{ ...about(resolved, 'storage.parquet_path', message, hint), source: resolved.sources.scheduler.url }];
}

/** User SQL acts with the rights of the cluster: without credentials, only this machine may send it. */
function openProblems(resolved: Resolved): readonly Finding[] {
  const { auth, server } = resolved.draft;
  if (auth.mode === 'required') return [];
  const open = [
    { name: 'server.http_bind_address', host: server.http_bind_address?.host },
    { name: 'server.grpc_host', host: server.grpc_host },
  ].find(({ host }) => host !== undefined && !isLoopback(host));
  if (open === undefined) return [];
  const message = `scheduler.url is set, but callers need no credentials, and ${open.name} is ${open.host}.`;
  return [about(resolved, 'scheduler.url', message, 'Set auth.callers_file, or bind both listeners to 127.0.0.1.')];
}

function schedulerWarnings(resolved: Resolved): readonly Finding[] {
  const { url } = resolved.draft.scheduler;
  const hasTls = url !== undefined && parseSchedulerUrl(url).hasTls;
  const [reason, hint] =
    url === undefined
      ? ['without scheduler.url', 'Set scheduler.url to the address of the cluster.']
      : ['because scheduler.url is not encrypted', 'Remove it, or use TLS in scheduler.url.'];
  return (['scheduler.token', 'scheduler.ca_file', 'scheduler.frames_url', 'scheduler.read_file'] as const)
    .filter((path) => isSet(resolved, path) && (url === undefined || (path === 'scheduler.ca_file' && !hasTls)))
    .map((path) => about(resolved, path, `${path} has no effect ${reason}.`, hint));
}
