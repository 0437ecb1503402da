/** The address of a cluster. */
export interface SchedulerUrl {
  /** Spark Connect, or Flight SQL. */
  readonly protocol: 'spark-connect' | 'flight-sql';
  readonly host: string;
  readonly port: number;
  readonly hasTls: boolean;
  /** The bearer token, if the URL has one. */
  readonly token?: string;
  /** The user that Spark Connect shows its operators. */
  readonly userId?: string;
}

/** The port of Spark Connect. */
const SPARK_PORT = 15_002;

/**
 * Parses `sc://host[:port][/;key=value;…]` (Spark's own form, with the keys `token`, `use_ssl` and `user_id`),
 * `grpc://host:port` or `grpc+tls://host:port`. Throws a RangeError that says what is wrong, without the token.
 */
export function parseSchedulerUrl(text: string): SchedulerUrl {
  const match = /^(sc|grpc|grpc\+tls):\/\/(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::(\d{1,5}))?(?:\/?|\/;(.*))$/is.exec(text);
  if (match === null) throw new RangeError('it must be sc://host:port, grpc://host:port or grpc+tls://host:port');
  const [, scheme = '', bracketed = '', portText, options = ''] = match;
  const isSpark = scheme.toLowerCase() === 'sc';
  if (portText === undefined && !isSpark) throw new RangeError('it has no port');
  const port = portText === undefined ? SPARK_PORT : Number(portText);
  if (port < 1 || port > 65_535) throw new RangeError(`the port ${port} is not between 1 and 65535`);
  const host = bracketed.replaceAll(/[[\]]/g, '');
  if (!isSpark) {
    if (options !== '') throw new RangeError('only sc:// takes options after /;');
    return { protocol: 'flight-sql', host, port, hasTls: scheme.toLowerCase() === 'grpc+tls' };
  }
  return { protocol: 'spark-connect', host, port, ...sparkOptions(options) };
}

function sparkOptions(text: string): Pick<SchedulerUrl, 'hasTls' | 'token' | 'userId'> {
  const options = new Map<string, string>();
  for (const pair of text.split(';').filter((part) => part !== '')) {
    const at = pair.indexOf('=');
    const key = pair.slice(0, Math.max(at, 0));
    if (at < 1 || at === pair.length - 1) throw new RangeError('its options must be key=value, separated by ;');
    if (!OPTIONS.has(key)) throw new RangeError(`it has an unknown option; known are ${[...OPTIONS].join(', ')}`);
    if (options.has(key)) throw new RangeError(`it has the option ${key} twice`);
    options.set(key, decodeURIComponent(pair.slice(at + 1)));
  }
  const tls = options.get('use_ssl')?.toLowerCase();
  if (tls !== undefined && tls !== 'true' && tls !== 'false') throw new RangeError('use_ssl must be true or false');
  const token = options.get('token');
  const userId = options.get('user_id');
  // As in Spark: a token is never sent in the clear.
  const hasTls = tls === 'true' || (token !== undefined && tls === undefined);
  return { hasTls, ...(token !== undefined && { token }), ...(userId !== undefined && { userId }) };
}

const OPTIONS = new Set(['token', 'use_ssl', 'user_id']);
