import { readFileSync } from 'node:fs';
import * as v from 'valibot';
import { plainText, type ValueType } from './value-type.ts';

/** The address of a cluster. */
export interface SchedulerUrl {
  readonly protocol: 'spark-connect' | 'flight-sql';
  readonly host: string;
  readonly port: number;
  readonly hasTls: boolean;
  /** The bearer token, if the URL has one. */
  readonly token?: string;
  /** The user of all Spark sessions, if the URL has one. */
  readonly userId?: string;
  /** The name of the client in Spark's logs, if the URL has one. */
  readonly userAgent?: string;
}

const EXPECTED = 'a URL such as sc://spark.example.com:15002, grpc://host:port or grpc+tls://host:port';
const OPTIONS_EXPECTED =
  'a URL with no options but token, use_ssl, user_id and user_agent: sc://host:15002/;token=…;use_ssl=true';
const NO_SESSION_EXPECTED = 'a URL without session_id, because each statement has a session of its own';
const CREDENTIALS_EXPECTED = 'a URL without credentials (set scheduler.token instead)';

const SPARK_PORT = 15_002;
const PATTERN = /^(sc|grpc|grpc\+tls):\/\/(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::(\d{1,5}))?(?:\/(?:;(.*))?)?$/is;

/** Parses a URL of `schedulerUrl()`; returns what it must be instead if it is not valid. */
function parse(text: string): SchedulerUrl | string {
  if (/^[^/]*\/\/[^/]*@/.test(text)) return CREDENTIALS_EXPECTED;
  const [, scheme, bracketed, portText, options] = PATTERN.exec(text) ?? [];
  if (scheme === undefined || bracketed === undefined) return EXPECTED;
  const isSpark = scheme.toLowerCase() === 'sc';
  const port = portText === undefined && isSpark ? SPARK_PORT : Number(portText ?? 0);
  if (port < 1 || port > 65_535) return `${EXPECTED}, with a port from 1 to 65535`;
  const host = bracketed.replaceAll(/[[\]]/g, '');
  if (isSpark) {
    const given = sparkOptions(options ?? '');
    return typeof given === 'string' ? given : { protocol: 'spark-connect', host, port, ...given };
  }
  if (options !== undefined) return `${EXPECTED}: only sc:// takes options`;
  return { protocol: 'flight-sql', host, port, hasTls: scheme.toLowerCase() === 'grpc+tls' };
}

/** Reads the options in Spark's own form. */
function sparkOptions(text: string): Pick<SchedulerUrl, 'hasTls' | 'token' | 'userAgent' | 'userId'> | string {
  const options = new Map<string, string>();
  for (const pair of text.split(';').filter((part) => part !== '')) {
    if (pair.startsWith('session_id=')) return NO_SESSION_EXPECTED;
    const [, key, escaped] = /^(token|use_ssl|user_id|user_agent)=(.+)$/.exec(pair) ?? [];
    const value = escaped === undefined ? undefined : unescaped(escaped);
    if (key === undefined || value === undefined || options.has(key)) return OPTIONS_EXPECTED;
    options.set(key, value);
  }
  const tls = options.get('use_ssl')?.toLowerCase();
  if (tls !== undefined && tls !== 'true' && tls !== 'false')
    return `${OPTIONS_EXPECTED}, where use_ssl is true or false`;
  const token = options.get('token');
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) return `${OPTIONS_EXPECTED}, where token is visible ASCII`;
  const [userId, userAgent] = ['user_id', 'user_agent'].map((key) => options.get(key));
  for (const name of [userId, userAgent]) {
    if (name !== undefined && !/^[\x20-\x7e]{1,200}$/.test(name))
      return `${OPTIONS_EXPECTED}, where user_id and user_agent are ASCII, at most 200 characters`;
  }
  // As Spark's own clients do: a token is sent over TLS unless the URL says otherwise.
  return {
    hasTls: tls === 'true' || (token !== undefined && tls === undefined),
    ...(token !== undefined && { token }),
    ...(userId !== undefined && { userId }),
    ...(userAgent !== undefined && { userAgent }),
  };
}

/** Decodes percent-encoding, as Spark's own clients do; undefined if it is malformed. */
function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The address of a cluster, as text. `parseSchedulerUrl` reads it. */
export function schedulerUrl(): ValueType<string> {
  const schema = v.pipe(
    v.string(EXPECTED),
    v.trim(),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed) return;
      const parsed = parse(dataset.value);
      if (typeof parsed === 'string') addIssue({ message: parsed });
    }),
  );
  return {
    ...plainText('url', EXPECTED, schema),
    // An unknown option may be a header with a secret.
    redact: (shown) =>
      shown.replaceAll(/(;(?!use_ssl=|user_id=|user_agent=)[^=;"]*=)[^;"]*/gi, '$1***').replace(/^("?).*@/s, '$1***@'),
  };
}

/** The cluster of the settings `scheduler.*`; undefined if none is set. */
export function schedulerCluster({ url, token, ca_file: caFile }: SchedulerSettings): SchedulerCluster | undefined {
  if (url === undefined) return undefined;
  const address = parseSchedulerUrl(url);
  return { ...address, token: token ?? address.token, ...(caFile !== undefined && { ca: readFileSync(caFile) }) };
}

interface SchedulerSettings {
  readonly url: string | undefined;
  readonly token: string | undefined;
  readonly ca_file: string | undefined;
}

/** How to reach a cluster. */
export interface SchedulerCluster extends Omit<SchedulerUrl, 'token'> {
  readonly token: string | undefined;
  /** The certificate authorities to trust, as PEM; undefined: those of Node. */
  readonly ca?: Buffer;
}

/** Reads a value of the setting `scheduler.url`. */
export function parseSchedulerUrl(text: string): SchedulerUrl {
  const parsed = parse(text);
  if (typeof parsed === 'string') throw new Error(`scheduler.url must be ${parsed}.`);
  return parsed;
}
