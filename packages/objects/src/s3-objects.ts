import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { ServiceError } from '@svc/errors';
import { AwsV4Signer } from 'aws4fetch';
import { Agent, type Dispatcher, request } from 'undici';
import {
  checkKey,
  checkPrefix,
  type GetOptions,
  isFile,
  isKey,
  type ObjectBody,
  type Objects,
  type ObjectStat,
  OutcomeUnknown,
} from './objects.ts';

/** Who signs the requests. */
export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** A bucket, and how to reach it. */
export interface S3Options {
  readonly bucket: string;
  /** All keys are below it. It has the form of a key, without slashes at its ends. Default: the whole bucket. */
  readonly prefix?: string;
  /** Called for each request: credentials of a role expire. */
  readonly credentials: () => Promise<S3Credentials>;
  /** Default: `us-east-1`. */
  readonly region?: string;
  /** The URL of a server other than AWS, for example `http://bucket:9000`. The bucket is then a part of the path. */
  readonly endpoint?: string;
  /** The certificate authorities to trust, as PEM. Default: those of Node. */
  readonly ca?: string;
  /**
   * How long to wait for a server to accept a connection, for the head of an answer, and for the next bytes of a body.
   * Waiting for one of the `connections` does not count. Default: 10 s.
   */
  readonly timeoutMs?: number;
  /**
   * Connections at the same time for bodies that are read, and for files that are sent; as many for all other requests.
   * Further ones wait. Default: 64.
   */
  readonly connections?: number;
}

/** The objects of a bucket. */
export interface S3Objects extends Objects {
  /** Closes the connections. */
  close(): Promise<void>;
}

/** Servers other than AWS take more names than lower-case ones. */
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/;
/** The longest object that S3 takes in one request. */
const MAX_PUT_BYTES = 5 * 1024 ** 3;
/** A page of a list has at most 1000 keys of 1024 characters each; an error is short. */
const MAX_XML_BYTES = 8 * 1024 * 1024;

/** Signed requests to a bucket. */
function createBucketRequests(options: S3Options) {
  const { bucket, credentials, region = 'us-east-1', timeoutMs = 10_000 } = options;
  const base = bucketUrl(options);
  const createAgent = (): Agent =>
    new Agent({
      connect: { timeout: timeoutMs, ...(options.ca !== undefined && { ca: options.ca }) },
      connections: options.connections ?? 64,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
  // A body keeps its connection until it is read: small requests must not wait for that.
  const agents = { small: createAgent(), body: createAgent() };

  /** Sends a request once. */
  async function send(sent: S3Request): Promise<Dispatcher.ResponseData> {
    const { method, path = '', query = {}, kind = 'small', body, bytes, signal } = sent;
    const url = new URL(`${base}${path}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    signal?.throwIfAborted();
    const signer = new AwsV4Signer({
      ...(await credentials().catch((error: unknown) => {
        throw withoutCredentials(bucket, error);
      })),
      url: url.href,
      method,
      headers: { 'x-amz-content-sha256': digestOf(body), ...sent.headers },
      service: 's3',
      region,
    });
    const { headers } = await signer.sign();
    return request(url, {
      method,
      headers: { ...Object.fromEntries(headers), ...(bytes !== undefined && { 'content-length': String(bytes) }) },
      body: typeof body === 'function' ? body() : (body ?? null),
      dispatcher: agents[kind],
      signal: signal ?? null,
    });
  }

  /** Sends a request that can be repeated. */
  async function ask(sent: S3Request): Promise<Dispatcher.ResponseData> {
    try {
      return await send(sent);
    } catch (error) {
      throw sent.signal?.aborted === true || error instanceof ServiceError ? error : noAnswer(bucket, error);
    }
  }

  return {
    send,
    ask,
    close: async (): Promise<void> => {
      await Promise.all([agents.small.destroy(), agents.body.destroy()]);
    },
  };
}

/**
 * The objects of an S3 bucket, which any number of servers share. The bucket must keep the condition `If-None-Match: *` of a
 * PUT; `checkCreates` tells. Nothing is sent twice: after an `OutcomeUnknown`, only the caller knows what to do.
 */
export function createS3Objects(options: S3Options): S3Objects {
  const { bucket, prefix = '' } = options;
  // Both become a part of the URL.
  if (!BUCKET.test(bucket)) throw new TypeError(`Bad bucket: ${bucket}`);
  if (prefix !== '' && !isKey(prefix)) throw new TypeError(`Bad prefix: ${prefix}`);
  const root = prefix === '' ? '' : `${prefix}/`;
  const pathOf = (key: string): string => `/${root}${key}`;
  const { send, ask, close } = createBucketRequests(options);

  async function put(
    key: string,
    content: Uint8Array | (() => Readable),
    bytes: number,
    signal?: AbortSignal,
  ): Promise<boolean> {
    signal?.throwIfAborted();
    let response;
    try {
      response = await send({
        method: 'PUT',
        path: pathOf(key),
        headers: { 'if-none-match': '*' },
        kind: typeof content === 'function' ? 'body' : 'small',
        body: content,
        bytes,
        ...(signal && { signal }),
      });
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      throw isUnsent(error) ? noAnswer(bucket, error) : new OutcomeUnknown(key, error);
    }
    const { statusCode, body } = response;
    if (statusCode >= 200 && statusCode < 300) {
      // The answer counts once its head is there.
      await body.dump().catch(() => {});
      return true;
    }
    const code = await errorCodeOf(body);
    if (statusCode === 412) return false;
    // 409: another request creates the name at this moment. 5xx: a proxy may have lost the answer.
    if (statusCode === 409 || statusCode >= 500) throw new OutcomeUnknown(key, new Error(`${statusCode} ${code}`));
    throw refused(bucket, statusCode, code);
  }

  async function describe(key: string, signal?: AbortSignal): Promise<ObjectStat | undefined> {
    // Not a HEAD, whose 404 does not tell if the name, the bucket or the account is missing.
    const response = await ask({
      method: 'GET',
      path: pathOf(key),
      headers: { range: 'bytes=0-0' },
      ...(signal && { signal }),
    });
    if (response.statusCode === 416) return describeEmpty(key, signal);
    if (await isAbsent(bucket, response)) return undefined;
    const { headers, body } = response;
    await body.dump();
    // `bytes 0-0/123`; a server without ranges sends all, and its length.
    const bytes = Number(/\/([0-9]+)$/.exec(String(headers['content-range']))?.[1] ?? bytesOf(headers));
    return { tag: tagOf(headers), bytes, modified: modifiedOf(headers) };
  }

  async function describeEmpty(key: string, signal?: AbortSignal): Promise<ObjectStat | undefined> {
    const { statusCode, headers, body } = await ask({ method: 'HEAD', path: pathOf(key), ...(signal && { signal }) });
    await body.dump();
    if (statusCode === 404) return undefined;
    if (statusCode !== 200) throw refused(bucket, statusCode, '');
    return { tag: tagOf(headers), bytes: bytesOf(headers), modified: modifiedOf(headers) };
  }

  return {
    async get(key, { range, signal } = {}) {
      checkKey(key);
      // HTTP cannot ask for no bytes.
      if (range !== undefined && range.end <= range.start) return emptyBody(await describe(key, signal));
      const response = await ask({
        method: 'GET',
        path: pathOf(key),
        kind: 'body',
        ...(range !== undefined && { headers: { range: `bytes=${range.start}-${range.end - 1}` } }),
        ...(signal && { signal }),
      });
      // The range begins after the end of the object.
      if (response.statusCode === 416) return emptyBody(await describe(key, signal));
      return (await isAbsent(bucket, response)) ? undefined : bodyOf(bucket, response, range, signal);
    },
    async stat(key, signal) {
      checkKey(key);
      return describe(key, signal);
    },
    async create(key, content, signal) {
      checkKey(key);
      if (!isFile(content)) return put(key, content, content.length, signal);
      const file = await open(content.path);
      let stream: Readable | undefined;
      try {
        const { size } = await file.stat();
        if (size > MAX_PUT_BYTES) {
          throw new ServiceError('payload_too_large', 'A bucket takes at most 5 GiB in one file.', {
            hint: 'Put the rows in several appends.',
          });
        }
        return await put(key, () => (stream = file.createReadStream({ highWaterMark: 1024 * 1024 })), size, signal);
      } finally {
        // The server may answer before it has read all.
        stream?.on('error', () => {}).destroy();
        await file.close();
      }
    },
    async *list(below, { after, signal } = {}) {
      checkPrefix(below);
      const start = after === undefined ? {} : { 'start-after': `${root}${after}` };
      for await (const name of namesIn(bucket, ask, { prefix: `${root}${below}`, ...start }, signal))
        if (name.startsWith(root) && isKey(name.slice(root.length))) yield name.slice(root.length);
    },
    async remove(keys, signal) {
      for (const key of keys) {
        checkKey(key);
        const { statusCode, body } = await ask({ method: 'DELETE', path: pathOf(key), ...(signal && { signal }) });
        if (statusCode >= 300) {
          const code = await errorCodeOf(body);
          if (code !== 'NoSuchKey') throw refused(bucket, statusCode, code);
        } else await body.dump();
      }
    },
    close,
  };
}

/** All names of a list, page by page. */
async function* namesIn(
  bucket: string,
  ask: (sent: S3Request) => Promise<Dispatcher.ResponseData>,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal | undefined,
): AsyncIterable<string> {
  for (let token: string | undefined; ;) {
    const { statusCode, body } = await ask({
      method: 'GET',
      query: {
        'list-type': '2',
        'encoding-type': 'url',
        ...query,
        ...(token !== undefined && { 'continuation-token': token }),
      },
      ...(signal && { signal }),
    });
    if (statusCode !== 200) throw refused(bucket, statusCode, await errorCodeOf(body));
    const page = pageIn(await textOf(bucket, body));
    if (page === undefined) throw noAnswer(bucket, new Error('The answer is not a page of a list.'));
    yield* page.names;
    token = page.next;
    if (token === undefined) return;
  }
}

/** A request to a bucket. */
interface S3Request {
  readonly method: 'DELETE' | 'GET' | 'HEAD' | 'PUT';
  /** Default: the bucket itself. */
  readonly path?: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Default: `small`. */
  readonly kind?: 'body' | 'small';
  readonly headers?: Readonly<Record<string, string>>;
  /** A stream is opened when the request is signed. */
  readonly body?: Uint8Array | (() => Readable);
  readonly bytes?: number;
  readonly signal?: AbortSignal;
}

/** The URL of a bucket. */
export function bucketUrl({ bucket, endpoint, region = 'us-east-1' }: Omit<S3Options, 'credentials'>): string {
  if (endpoint !== undefined) return `${endpoint.replace(/\/+$/, '')}/${bucket}`;
  // A certificate of AWS does not match a host with more dots.
  if (bucket.includes('.')) return `https://s3.${region}.amazonaws.com/${bucket}`;
  return `https://${bucket}.s3.${region}.amazonaws.com`;
}

/** Small bodies are signed, so that the server verifies them. Hashing a file would take as long as sending it. */
function digestOf(body: Uint8Array | (() => Readable) | undefined): string {
  if (typeof body === 'function') return 'UNSIGNED-PAYLOAD';
  return createHash('sha256')
    .update(body ?? '')
    .digest('hex');
}

/** True if there is no such object; anything else but an answer with its bytes throws. */
async function isAbsent(bucket: string, { statusCode, body }: Dispatcher.ResponseData): Promise<boolean> {
  if (statusCode === 200 || statusCode === 206) return false;
  const code = await errorCodeOf(body);
  if (statusCode === 404 && code === 'NoSuchKey') return true;
  throw refused(bucket, statusCode, code);
}

/** An ETag is that of the bytes: the same bytes, created again, have the same. */
function tagOf(headers: Dispatcher.ResponseData['headers']): string {
  return `${String(headers['etag'])} ${String(headers['last-modified'])} ${String(headers['x-amz-version-id'])}`;
}

function modifiedOf(headers: Dispatcher.ResponseData['headers']): Date {
  return new Date(String(headers['last-modified']));
}

function bytesOf(headers: Dispatcher.ResponseData['headers']): number {
  return Number(headers['content-length']);
}

function chunksOf(body: Readable): AsyncIterable<Uint8Array> {
  return body;
}

type Range = NonNullable<GetOptions['range']>;

/** Where the wanted bytes are in the body of an answer. Undefined: the answer is not what was asked for. */
function wantedIn({ statusCode, headers }: Dispatcher.ResponseData, range: Range | undefined): Range | undefined {
  const length = bytesOf(headers);
  if (!Number.isSafeInteger(length)) return undefined;
  // A server without ranges sends all.
  if (statusCode === 200)
    return { start: Math.min(range?.start ?? 0, length), end: Math.min(range?.end ?? length, length) };
  const [, first, last, size] = /^bytes ([0-9]+)-([0-9]+)\/([0-9]+|\*)$/.exec(String(headers['content-range'])) ?? [];
  const end = Math.min(range?.end ?? 0, size === '*' ? Infinity : Number(size));
  const isRight = Number(first) === range?.start && Number(last) + 1 === end && length === end - range.start;
  return isRight ? { start: 0, end: length } : undefined;
}

function bodyOf(
  bucket: string,
  response: Dispatcher.ResponseData,
  range: Range | undefined,
  signal?: AbortSignal,
): ObjectBody {
  const { headers, body } = response;
  const wanted = wantedIn(response, range);
  const close = async (): Promise<void> => {
    body.on('error', () => {}).destroy();
  };
  if (wanted === undefined) {
    void close();
    throw noAnswer(bucket, new Error('The answer has other bytes than those of the request.'));
  }
  const { start, end } = wanted;
  const length = bytesOf(headers);
  async function* read(): AsyncIterable<Uint8Array> {
    let received = 0;
    try {
      for await (const chunk of chunksOf(body)) {
        const part = chunk.subarray(Math.max(start - received, 0), Math.max(end - received, 0));
        received += chunk.length;
        if (part.length > 0) yield part;
        if (received >= end && end < length) return;
      }
    } catch (error) {
      throw signal?.aborted === true ? error : noAnswer(bucket, error);
    }
    if (received !== length) throw noAnswer(bucket, new Error(`${received} of ${length} bytes came.`));
  }
  return { tag: tagOf(headers), bytes: end - start, chunks: read(), close };
}

function emptyBody(found: ObjectStat | undefined): ObjectBody | undefined {
  async function* nothing(): AsyncIterable<Uint8Array> {
    // No chunks.
  }
  return found && { tag: found.tag, bytes: 0, chunks: nothing(), close: async () => {} };
}

async function textOf(bucket: string, body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of chunksOf(body)) {
      bytes += chunk.length;
      if (bytes > MAX_XML_BYTES) throw new Error('The answer is too long.');
      chunks.push(chunk);
    }
  } catch (error) {
    throw noAnswer(bucket, error);
  }
  return Buffer.concat(chunks).toString();
}

/** A page of a list. */
interface Page {
  readonly names: readonly string[];
  /** The token of the next page, if there is one. */
  readonly next: string | undefined;
}

/** Undefined: the text is something else, such as the page of a proxy, or does not tell how to go on. */
function pageIn(xml: string): Page | undefined {
  if (!/^\s*(<\?xml[^>]*>\s*)?<ListBucketResult[\s>].*<\/ListBucketResult>\s*$/s.test(xml)) return undefined;
  const isEncoded = elementOf(xml, 'EncodingType') === 'url';
  const names = [...xml.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, name = '']) => (isEncoded ? decoded(name) : name));
  const isTruncated = elementOf(xml, 'IsTruncated');
  if (isTruncated === 'false') return { names, next: undefined };
  const next = elementOf(xml, 'NextContinuationToken') ?? '';
  return isTruncated === 'true' && next !== '' ? { names, next } : undefined;
}

/** The name as it is if it cannot be decoded: it is no key then. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function elementOf(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return text?.replace(/&(amp|lt|gt|quot|apos);/g, (_all, entity: string) => ENTITIES[entity] ?? '');
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** The code in the body of an error, or nothing: an answer to HEAD has no body, and a proxy answers HTML. */
async function errorCodeOf(body: Dispatcher.ResponseData['body']): Promise<string> {
  const xml = await textOf('', body).catch(() => '');
  return elementOf(xml, 'Code') ?? '';
}

/** True if there was no connection. A code such as `EHOSTUNREACH` does not tell: an open connection fails with it, too. */
function isUnsent(error: unknown): boolean {
  // One for each address of the server.
  if (error instanceof AggregateError) return error.errors.every(isUnsent);
  if (!(error instanceof Error)) return false;
  if ('syscall' in error) return error.syscall === 'connect' || error.syscall === 'getaddrinfo';
  return 'code' in error && error.code === 'UND_ERR_CONNECT_TIMEOUT';
}

function withoutCredentials(bucket: string, cause: unknown): ServiceError {
  return new ServiceError('unavailable', `There are no credentials for the bucket ${bucket}.`, {
    hint: 'Check the access key, or the role of this machine. The log of the server has the cause.',
    cause,
  });
}

function noAnswer(bucket: string, cause: unknown): ServiceError {
  return new ServiceError('unavailable', `The bucket ${bucket} does not answer.`, {
    hint: 'Retry in a moment. The log of the server has the cause.',
    cause,
  });
}

/** What to do about the codes of S3, for the operator. */
const HINTS: Readonly<Record<string, string>> = {
  AccessDenied: 'Allow s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket.',
  InvalidAccessKeyId: 'Check the access key.',
  NoSuchBucket: 'Create the bucket, or correct its name.',
  RequestTimeTooSkewed: 'Set the clock of this machine.',
  // That of versitygw.
  XAdminUserNotFound: 'Check the access key.',
  SignatureDoesNotMatch: 'Check the secret key and the region.',
};

function refused(bucket: string, status: number, code: string): ServiceError {
  const cause = new Error(`${status} ${code}`);
  if (status >= 500 || status === 429) {
    return new ServiceError('unavailable', `The bucket ${bucket} is overloaded.`, { retryAfterSeconds: 1, cause });
  }
  const hint = HINTS[code] ?? (status < 400 ? 'Check the region of the bucket.' : 'Check the settings of the bucket.');
  return new ServiceError('internal', `The bucket ${bucket} refuses the request: ${status} ${code}`.trimEnd() + '.', {
    hint,
    cause,
  });
}
