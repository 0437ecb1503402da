import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkCreates } from './check-creates.ts';
import { createMemoryObjects } from './memory-objects.ts';
import { type Objects, OutcomeUnknown, readObject } from './objects.ts';
import { bucketUrl, createS3Objects, type S3Objects, type S3Options } from './s3-objects.ts';

/** A server that answers as a broken one does; interop/s3 has a real one. */
let server: Server;
let endpoint: string;
let objects: S3Objects;
let requests: IncomingMessage[];
let answer: (request: IncomingMessage, response: ServerResponse) => void;

beforeEach(async () => {
  requests = [];
  server = createServer((request, response) => {
    requests.push(request);
    answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  endpoint = `http://127.0.0.1:${port}`;
  objects = open();
});

afterEach(async () => {
  await objects.close();
  server.closeAllConnections();
  server.close();
});

function open(options: Partial<S3Options> = {}): S3Objects {
  return createS3Objects({
    endpoint,
    bucket: 'frames',
    prefix: 'data',
    credentials: async () => ({ accessKeyId: 'id', secretAccessKey: 'secret', sessionToken: 'session' }),
    timeoutMs: 300,
    ...options,
  });
}

const error = (status: number, code: string) => (_request: IncomingMessage, response: ServerResponse) =>
  response.writeHead(status).end(`<?xml version="1.0"?><Error><Code>${code}</Code></Error>`);

const reset = (request: IncomingMessage): void => {
  request.socket.destroy();
};

const silent = (): void => {};

test('a create asks for an absent name, and signs the body', async () => {
  answer = (_request, response) => response.end();
  expect(await objects.create('a/b', Buffer.from('x'))).toBe(true);
  const { method, url, headers } = requests[0] ?? { headers: {} };
  expect({ method, url }).toEqual({ method: 'PUT', url: '/frames/data/a/b' });
  expect(headers).toMatchObject({
    'if-none-match': '*',
    'content-length': '1',
    'x-amz-content-sha256': '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881',
    'x-amz-security-token': 'session',
    authorization: expect.stringMatching(/^AWS4-HMAC-SHA256 Credential=id\/[0-9]{8}\/us-east-1\/s3\/aws4_request, /),
  });
});

test.each([200, 201, 204])('the answer %i means that the name was created', async (status) => {
  answer = (_request, response) => response.writeHead(status).end();
  expect(await objects.create('a', Buffer.from('x'))).toBe(true);
});

test('a create of a name that exists is false', async () => {
  answer = error(412, 'PreconditionFailed');
  expect(await objects.create('a', Buffer.from('x'))).toBe(false);
});

test.each([
  ['a conflict', error(409, 'ConditionalRequestConflict')],
  ['a failure of the server', error(500, 'InternalError')],
  ['a bad gateway', error(502, '')],
  ['an overload', error(503, 'SlowDown')],
  ['a connection that breaks', reset],
  ['no answer in time', silent],
])('the outcome of a create is not known after %s, and it is not sent again', async (_name, how) => {
  answer = how;
  await expect(objects.create('a', Buffer.from('x'))).rejects.toThrow(OutcomeUnknown);
  expect(requests).toHaveLength(1);
});

describe('a create from a file', () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 's3-objects-'));
    path = join(folder, 'body');
    await writeFile(path, Buffer.alloc(3_000_000));
  });
  afterEach(() => rm(folder, { recursive: true }));

  /** How often this process has the file open. */
  const opened = (): number =>
    readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`) === path;
      } catch {
        return false;
      }
    }).length;

  test('that does not exist is refused, and nothing was sent', async () => {
    await expect(objects.create('a', { path: join(folder, 'none') })).rejects.toMatchObject({ code: 'ENOENT' });
    expect(requests).toEqual([]);
  });

  test.runIf(process.platform === 'linux').each<[string, typeof answer | undefined, Partial<S3Options>, AbortSignal?]>([
    ['is stored', (request, response) => request.resume().on('end', () => response.end()), {}],
    ['is refused before it is read', error(412, 'PreconditionFailed'), {}],
    ['meets a broken connection', reset, {}],
    ['gets no answer', silent, {}],
    ['has no credentials', undefined, { credentials: () => Promise.reject(new Error('no role')) }],
    ['is cancelled', undefined, {}, AbortSignal.abort(new Error('enough'))],
  ])('closes the file if it %s', async (_, how, options, signal) => {
    if (how !== undefined) answer = how;
    const bucket = open(options);
    for (let i = 0; i < 3; i++) await bucket.create('a', { path }, signal).catch(() => {});
    await expect.poll(opened).toBe(0);
    await bucket.close();
  });
});

test('a create without a server is refused, and nothing was sent', async () => {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
  const created = objects.create('a', Buffer.from('x'));
  await expect(created).rejects.toMatchObject({ code: 'unavailable', message: 'The bucket frames does not answer.' });
});

test.each(['http://localhost:1', 'http://bucket.invalid'])('neither was anything sent to %s', async (nowhere) => {
  const bucket = open({ endpoint: nowhere });
  await expect(bucket.create('a', Buffer.from('x'))).rejects.toMatchObject({ code: 'unavailable' });
  await bucket.close();
});

test('the outcome of a create is not known if the network fails after it was sent', async () => {
  const sockets: Socket[] = [];
  const collect = (message: unknown): void => {
    sockets.push((message as { socket: Socket }).socket);
  };
  subscribe('undici:client:connected', collect);
  answer = () => {
    for (const socket of sockets) {
      socket.destroy(Object.assign(new Error('read'), { code: 'EHOSTUNREACH', syscall: 'read' }));
    }
  };
  await expect(objects.create('a', Buffer.from('x'))).rejects.toThrow(OutcomeUnknown);
  unsubscribe('undici:client:connected', collect);
});

test('without credentials every call is unavailable, and nothing was sent', async () => {
  const bucket = open({ credentials: () => Promise.reject(new Error('no role')) });
  const refusal = { code: 'unavailable', message: 'There are no credentials for the bucket frames.' };
  await expect(bucket.create('a', Buffer.from('x'))).rejects.toMatchObject(refusal);
  await expect(bucket.get('a')).rejects.toMatchObject(refusal);
  await expect(bucket.stat('a')).rejects.toMatchObject(refusal);
  await expect(bucket.remove(['a'])).rejects.toMatchObject(refusal);
  expect(requests).toEqual([]);
});

test.each([
  [403, 'AccessDenied', 'Allow s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket.'],
  [403, 'RequestTimeTooSkewed', 'Set the clock of this machine.'],
  [404, 'NoSuchBucket', 'Create the bucket, or correct its name.'],
  [404, 'XAdminUserNotFound', 'Check the access key.'],
  [301, 'PermanentRedirect', 'Check the region of the bucket.'],
])('the answer %i %s is an error with a hint, for every call', async (status, code, hint) => {
  answer = error(status, code);
  const refusal = { code: 'internal', message: `The bucket frames refuses the request: ${status} ${code}.`, hint };
  await expect(objects.create('a', Buffer.from('x'))).rejects.toMatchObject(refusal);
  await expect(objects.get('a')).rejects.toMatchObject(refusal);
  await expect(objects.stat('a')).rejects.toMatchObject(refusal);
  await expect(objects.list('')[Symbol.asyncIterator]().next()).rejects.toMatchObject(refusal);
  await expect(objects.remove(['a'])).rejects.toMatchObject(refusal);
});

describe('a read', () => {
  test.each([
    ['a connection that breaks', reset],
    ['no answer in time', silent],
    ['a failure of the server', error(500, 'InternalError')],
    ['an overload', error(503, 'SlowDown')],
  ])('is unavailable after %s', async (_name, how) => {
    answer = how;
    await expect(objects.get('a')).rejects.toMatchObject({ code: 'unavailable' });
    await expect(objects.stat('a')).rejects.toMatchObject({ code: 'unavailable' });
    await expect(objects.remove(['a'])).rejects.toMatchObject({ code: 'unavailable' });
    await expect(objects.list('')[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'unavailable' });
    expect(requests).toHaveLength(4);
  });

  test('whose body is cut is unavailable, never short', async () => {
    answer = (_request, response) => {
      response.writeHead(200, { 'content-length': '10', etag: '"e"' }).write('01234');
      setTimeout(() => response.destroy(), 20);
    };
    await expect(readObject(objects, 'a', 100)).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('can be cancelled', async () => {
    answer = silent;
    const controller = new AbortController();
    const read = objects.get('a', { signal: controller.signal });
    setTimeout(() => controller.abort(new Error('enough')), 20);
    await expect(read).rejects.toThrow('enough');
  });
});

describe('a read of the bytes 4 to 6', () => {
  const range = { start: 4, end: 6 };

  test.each([
    [206, 'bytes 4-5/10', '45'],
    [206, 'bytes 4-5/*', '45'],
    [206, 'bytes 4-4/5', '4'],
    [200, undefined, '0123456789'],
    [200, undefined, '01234'],
    [200, undefined, '012'],
  ])('from the answer %i %s %j has these bytes, if the object does', async (status, contentRange, text) => {
    answer = (_request, response) =>
      response
        .writeHead(status, { 'content-length': text.length, ...(contentRange && { 'content-range': contentRange }) })
        .end(text);
    const body = await objects.get('a', { range });
    const chunks: Uint8Array[] = [];
    for await (const chunk of body?.chunks ?? []) chunks.push(chunk);
    const expected = status === 206 ? text : text.slice(4, 6);
    expect(Buffer.concat(chunks).toString()).toBe(expected);
    expect(body?.bytes).toBe(expected.length);
  });

  test.each([
    ['bytes 0-1/10', '01'],
    ['bytes 4-6/10', '456'],
    ['bytes 4-4/10', '4'],
    ['bytes 4-5/10', '4'],
    ['', '45'],
  ])('is unavailable if the answer is 206 %j %j', async (contentRange, text) => {
    answer = (_request, response) =>
      response.writeHead(206, { 'content-length': text.length, 'content-range': contentRange }).end(text);
    await expect(objects.get('a', { range })).rejects.toMatchObject({ code: 'unavailable' });
  });
});

test('a read of all is unavailable if the answer is a part', async () => {
  answer = (_request, response) =>
    response.writeHead(206, { 'content-length': 1, 'content-range': 'bytes 0-0/10' }).end('0');
  await expect(objects.get('a')).rejects.toMatchObject({ code: 'unavailable' });
});

/** A page of a list. */
function pageOf(keys: readonly string[], more: string): string {
  const contents = keys.map((key) => `<Contents><Key>${key}</Key></Contents>`).join('');
  return `<?xml version="1.0"?>\n<ListBucketResult xmlns="http://s3">${contents}${more}</ListBucketResult>\n`;
}

async function listed(prefix = '', after?: string): Promise<string[]> {
  const keys = [];
  for await (const key of objects.list(prefix, after === undefined ? {} : { after })) keys.push(key);
  return keys;
}

const LAST = '<IsTruncated>false</IsTruncated>';
const AS_URL = '<EncodingType>url</EncodingType>';

test('a list goes on until the last page', async () => {
  const next = '<IsTruncated>true</IsTruncated><NextContinuationToken>x&amp;y=</NextContinuationToken>';
  answer = ({ url = '' }, response) => {
    const isFirst = !new URL(url, endpoint).searchParams.has('continuation-token');
    const keys = isFirst ? ['data%2Fa%2F1', 'data%2Fa%2F2'] : ['data%2Fa%2F3'];
    response.end(pageOf(keys, AS_URL + (isFirst ? next : LAST)));
  };
  expect(await listed('a/', 'a/0')).toEqual(['a/1', 'a/2', 'a/3']);
  const [first, second] = requests.map(({ url = '' }) => new URL(url, endpoint).searchParams);
  expect(Object.fromEntries(first ?? [])).toEqual({
    'list-type': '2',
    'encoding-type': 'url',
    prefix: 'data/a/',
    'start-after': 'data/a/0',
  });
  expect(second?.get('continuation-token')).toBe('x&y=');
});

test.each([
  ['in URL encoding', ['data%2Fa', 'data%2Fb+c', 'data%2F%C3%A4', 'data%2F100%', 'other%2Fa', 'data%2F'], AS_URL],
  ['as they are', ['data/a', 'data/b c', 'data/ä', 'data/100%', 'data/a%2Fb', 'data/a&amp;b', 'other/a'], ''],
])('a list with names %s has only those that are keys', async (_, keys, encoding) => {
  answer = (_request, response) => response.end(pageOf(keys, encoding + LAST));
  expect(await listed()).toEqual(['a']);
});

test('the last page has no next one, whatever token it has', async () => {
  const token = '<NextContinuationToken>x</NextContinuationToken>';
  answer = (_request, response) => response.end(pageOf(['data/a'], LAST + token));
  expect(await listed()).toEqual(['a']);
});

const MORE = '<IsTruncated>true</IsTruncated>';

test.each([
  ['nothing', ''],
  ['the page of a proxy', '<html>Sign in</html>'],
  ['an error', '<?xml version="1.0"?><Error><Code>InternalError</Code></Error>'],
  ['a page that is cut', pageOf(['data/a'], LAST).slice(0, -20)],
  ['a page that does not tell if it is the last', pageOf(['data/a'], '')],
  ['a page with more and no token', pageOf(['data/a'], `${MORE}<NextMarker>a</NextMarker>`)],
  ['a page with more and an empty token', pageOf(['data/a'], `${MORE}<NextContinuationToken></NextContinuationToken>`)],
])('a list whose answer is %s is unavailable, never short or endless', async (_, text) => {
  answer = (_request, response) => response.end(text);
  await expect(listed()).rejects.toMatchObject({ code: 'unavailable' });
  expect(requests).toHaveLength(1);
});

test.each([
  ['last-modified', 'Thu, 19 Nov 2026 10:00:00 GMT', 'Thu, 19 Nov 2026 10:00:01 GMT'],
  ['x-amz-version-id', '1', '2'],
  ['etag', '"a"', '"b"'],
])('objects with another %s have another tag, also if they are empty', async (name, first, second) => {
  const tags = [];
  for (const status of [200, 416]) {
    for (const value of [first, second]) {
      answer = ({ method }, response) =>
        response.writeHead(method === 'HEAD' ? 200 : status, { etag: '"x"', 'content-length': 0, [name]: value }).end();
      tags.push((await objects.stat('a'))?.tag);
      expect((await objects.get('a'))?.tag).toBe(tags.at(-1));
    }
    expect(tags[0]).not.toBe(tags[1]);
    expect(tags.splice(0)).toHaveLength(2);
  }
});

test('small requests do not wait for bodies that are open', async () => {
  const bucket = open({ connections: 2 });
  answer = ({ method, url = '', headers }, response) => {
    if (method === 'GET' && headers.range === undefined && !url.includes('?')) {
      response.writeHead(200, { 'content-length': 5_000_000 }).end(Buffer.alloc(5_000_000));
    } else response.end(url.includes('?') ? pageOf(['data/a'], LAST) : undefined);
  };
  const bodies = await Promise.all([bucket.get('a'), bucket.get('b')]);
  expect(await bucket.stat('a')).toBeDefined();
  expect(await bucket.create('a', Buffer.from('x'))).toBe(true);
  for await (const key of bucket.list('')) expect(key).toBe('a');
  await bucket.remove(['a']);
  for (const body of bodies) await body?.close();
  await bucket.close();
}, 10_000);

test.each([
  [{ bucket: '' }, 'Bad bucket: '],
  [{ bucket: 'a/b' }, 'Bad bucket: a/b'],
  [{ bucket: 'a?b' }, 'Bad bucket: a?b'],
  [{ bucket: '..' }, 'Bad bucket: ..'],
  [{ bucket: '.frames' }, 'Bad bucket: .frames'],
  [{ prefix: 'team#1' }, 'Bad prefix: team#1'],
  [{ prefix: 'team?x' }, 'Bad prefix: team?x'],
  [{ prefix: '../other' }, 'Bad prefix: ../other'],
  [{ prefix: 'a b' }, 'Bad prefix: a b'],
  [{ prefix: 'a%2Fb' }, 'Bad prefix: a%2Fb'],
  [{ prefix: '/x' }, 'Bad prefix: /x'],
  [{ prefix: 'x/' }, 'Bad prefix: x/'],
])('%j is refused', (options, message) => {
  expect(() => open(options)).toThrow(new TypeError(message));
});

test('an empty prefix is the whole bucket', async () => {
  const bucket = open({ prefix: '' });
  answer = (_request, response) => response.end();
  await bucket.create('a', Buffer.from('x'));
  expect(requests[0]?.url).toBe('/frames/a');
  await bucket.close();
});

describe('the check of a bucket', () => {
  test('passes if a name can be created once, and leaves nothing', async () => {
    const home = createMemoryObjects();
    await checkCreates(home);
    expect((await home.list('')[Symbol.asyncIterator]().next()).done).toBe(true);
  });

  const REFUSAL = 'The bucket does not keep the condition If-None-Match of a PUT.';

  test('passes if some of those that race get no answer', async () => {
    const home = createMemoryObjects();
    let calls = 0;
    const create: Objects['create'] = async (key, body) => {
      const isCreated = await home.create(key, body);
      if ((calls += 1) % 4 === 1) throw new OutcomeUnknown(key, undefined);
      return isCreated;
    };
    await checkCreates({ ...home, create });
    expect(calls).toBeGreaterThan(20);
  });

  test('refuses a bucket that ignores the condition', async () => {
    answer = (_request, response) => response.end();
    await expect(checkCreates(objects)).rejects.toThrow(REFUSAL);
  });

  test('refuses a bucket that lets one of many in a race be the second, and leaves nothing', async () => {
    const home = createMemoryObjects();
    const creates = new Map<string, number>();
    const create: Objects['create'] = async (key, body) => {
      const number = (creates.get(key) ?? 0) + 1;
      creates.set(key, number);
      return (await home.create(key, body)) || (creates.size === 2 && number === 15);
    };
    await expect(checkCreates({ ...home, create })).rejects.toThrow(REFUSAL);
    expect((await home.list('')[Symbol.asyncIterator]().next()).done).toBe(true);
  });

  test('refuses a bucket that creates nothing', async () => {
    await expect(checkCreates({ ...createMemoryObjects(), create: async () => false })).rejects.toThrow(REFUSAL);
  });

  test('fails as a create does', async () => {
    answer = error(403, 'AccessDenied');
    await expect(checkCreates(objects)).rejects.toThrow('403 AccessDenied');
  });
});

test.each([
  [{ bucket: 'frames' }, 'https://frames.s3.us-east-1.amazonaws.com'],
  [{ bucket: 'frames', region: 'eu-west-1' }, 'https://frames.s3.eu-west-1.amazonaws.com'],
  [{ bucket: 'frames.example', region: 'eu-west-1' }, 'https://s3.eu-west-1.amazonaws.com/frames.example'],
  [{ bucket: 'frames', endpoint: 'http://127.0.0.1:9000/' }, 'http://127.0.0.1:9000/frames'],
])('the URL of %j is %s', (options, url) => {
  expect(bucketUrl(options)).toBe(url);
});
