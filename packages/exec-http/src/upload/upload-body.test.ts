import { createMemoryStore } from '@svc/frames';
import { createService } from '@svc/service';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { createExecApp } from '../create-exec-app.ts';

const service = createService({ store: createMemoryStore(), version: '0', maxUploadBytes: 10_000 });
const app = createExecApp({ service });
afterAll(() => service.close());

const BOUNDARY = 'xyz';

/** A form of the parts, each with its headers. */
function form(...parts: readonly (readonly [headers: string, body: string | Uint8Array])[]): Buffer {
  return Buffer.concat([
    ...parts.flatMap(([headers, body]) => [
      Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; ${headers}\r\n\r\n`),
      Buffer.from(body),
      Buffer.from('\r\n'),
    ]),
    Buffer.from(`--${BOUNDARY}--\r\n`),
  ]);
}

interface Sent {
  readonly body: string | Uint8Array;
  readonly type?: string;
  readonly encoding?: string;
}

/**
 * Sends a body in chunks of one byte, or 64 if it is long, so that nothing depends on them; returns the rows or the
 * error.
 */
async function upload({ body, type, encoding }: Sent, path = '/frames/t?'): Promise<unknown> {
  const bytes = Buffer.from(body);
  const step = bytes.length > 1000 ? 64 : 1;
  const response = await app.request(path, {
    method: path.startsWith('/frames/t') ? 'PUT' : 'POST',
    body: new ReadableStream({
      start(controller) {
        for (let at = 0; at < bytes.length; at += step)
          controller.enqueue(Uint8Array.from(bytes.subarray(at, at + step)));
        controller.close();
      },
    }),
    headers: { ...(type !== undefined && { 'content-type': type }), ...(encoding && { 'content-encoding': encoding }) },
    duplex: 'half',
  } as RequestInit);
  const answer = (await response.json()) as { code?: string; error?: string };
  if (!response.ok) return `${response.status} ${answer.code}: ${answer.error}`;
  const rows = (await (await app.request('/exec?handle=t&fmt=json')).json()) as { dataset: unknown };
  return rows.dataset;
}

const ROWS = '[{"id":1},{"id":2}]';
const LINES = '{"id":1}\n{"id":2}\n';
const zstd = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x58, (LINES.length << 3) | 1, 0, 0, ...Buffer.from(LINES)]);
const gzip = gzipSync(LINES);

describe('Content-Encoding', () => {
  test.each([
    ['gzip', gzip],
    ['x-gzip', gzip],
    ['GZIP , identity', gzip],
    ['zstd', zstd],
    ['identity', LINES],
  ])('%s is decompressed', async (encoding, body) => {
    expect(await upload({ body, type: 'application/x-ndjson', encoding })).toEqual([[1], [2]]);
  });

  test.each([
    [{ body: 'x', encoding: 'br' }, '415 unsupported_media_type: Content-Encoding: "br" is not supported.'],
    [
      { body: 'x', encoding: 'gzip, zstd' },
      '415 unsupported_media_type: Content-Encoding: "gzip, zstd" has more than one coding.',
    ],
    [{ body: LINES, encoding: 'gzip' }, /^400 invalid_data: The gzip data in the body is corrupt/],
    [{ body: gzip.subarray(0, -1), encoding: 'gzip' }, '400 invalid_data: The gzip data in the body ends too early.'],
    [{ body: zstd.subarray(0, -1), encoding: 'zstd' }, '400 invalid_data: The zstd data in the body ends too early.'],
    [
      { body: gzipSync(Buffer.alloc(10_001, '\n')), encoding: 'gzip' },
      '413 payload_too_large: The upload decompresses to more than 10000 bytes.',
    ],
  ])('%j', async (sent, expected) => {
    expect(await upload({ type: 'application/x-ndjson', ...sent })).toEqual(
      typeof expected === 'string' ? expected : expect.stringMatching(expected),
    );
  });
});

describe('with a format, but without Content-Encoding', () => {
  test.each([
    ['gzip', { body: gzip, type: 'application/x-ndjson' }, '/frames/t'],
    ['zstd', { body: zstd, type: 'application/x-ndjson' }, '/frames/t'],
    ['gzip', { body: gzipSync(ROWS) }, '/frames/t?fmt=json'],
    [
      'gzip in a form',
      { body: form(['name=f; filename="a"', gzip]), type: `multipart/form-data; boundary=${BOUNDARY}` },
      '/frames/t?fmt=ndjson',
    ],
  ])('%s is recognised by its first bytes', async (_, sent, path) => {
    expect(await upload(sent, path)).toEqual([[1], [2]]);
  });

  test.each([
    ['Parquet', 'PAR1\u0015\0', 'The body is parquet, and it was sent as ndjson.'],
    ['compressed Parquet', gzipSync('PAR1\u0015\0'), 'The body is parquet, and it was sent as ndjson.'],
    ['Arrow', 'ARROW1\0\0', 'The body is arrow, and it was sent as ndjson.'],
    ['Excel', 'PK\u0003\u0004\0 xl/workbook.xml', 'The body is an Excel file (.xlsx), which cannot be read.'],
  ])('%s is not taken for text', async (_, body, message) => {
    expect(await upload({ body, type: 'application/x-ndjson' })).toBe(`415 unsupported_media_type: ${message}`);
  });

  test('compressed rows keep the limit', async () => {
    const body = gzipSync(Buffer.alloc(10_001, '\n'));
    expect(await upload({ body, type: 'application/x-ndjson' })).toBe(
      '413 payload_too_large: The upload decompresses to more than 10000 bytes.',
    );
  });
});

describe('without a format', () => {
  test.each([
    ['JSON', { body: ROWS }],
    ['NDJSON', { body: LINES }],
    ['an empty type', { body: LINES, type: '' }],
    ['a vague type', { body: LINES, type: 'application/octet-stream' }],
    ['the type of curl --data-binary', { body: LINES, type: 'application/x-www-form-urlencoded' }],
    ['text', { body: ROWS, type: 'text/plain; charset=utf-8' }],
    ['the type of JSON lines', { body: LINES, type: 'application/jsonl' }],
    ['gzip', { body: gzip }],
    ['zstd', { body: zstd, type: 'application/zstd' }],
  ])('%s is recognised by its first bytes', async (_, sent) => {
    expect(await upload(sent)).toEqual([[1], [2]]);
  });

  test('one object is one row', async () => {
    expect(await upload({ body: '{"id":7}' })).toEqual([[7]]);
  });

  test.each([
    [{ body: '' }, /^400 invalid_data: The body is empty/],
    [{ body: gzipSync('') }, /^400 invalid_data: The body is empty/],
    [{ body: gzipSync(gzip) }, /^415 unsupported_media_type: The body is compressed more than once/],
    [{ body: 'a,b\n1,2\n' }, /^415 unsupported_media_type: A body in the format csv is not supported: this server/],
    [{ body: 'PK\u0003\u0004 xl/', type: 'application/vnd.ms-excel' }, /^415 .* The body is an Excel file \(\.xlsx\)/],
    [{ body: 'a\0b' }, /^415 .*it contains zero bytes/],
    [{ body: 'x', type: 'text/xml' }, /^415 .*Content-Type "text\/xml" is not an upload format/],
  ])('%j', async (sent, expected) => {
    expect(await upload(sent)).toMatch(expected);
  });

  test('a query that could be a row needs a type', async () => {
    expect(await upload({ body: '{"sql":"select 1"}' }, '/frames')).toMatch(/^415 .*could be a query or a row/);
  });
});

test.each(['multipart/form-data; boundary=x', 'text/plain'])(
  'a client that goes away in a body of the type %s is not an internal error',
  async (type) => {
    const client = new AbortController();
    const body = new ReadableStream({
      pull(stream) {
        client.abort();
        stream.error(new Error('aborted'));
      },
    });
    const request = new Request('http://localhost/frames/t', {
      method: 'PUT',
      body,
      headers: { 'content-type': type },
      signal: client.signal,
      duplex: 'half',
    } as RequestInit);
    const response = await app.request(request);
    expect([response.status, await response.json()]).toMatchObject([499, { code: 'cancelled' }]);
  },
);

describe('multipart/form-data', () => {
  const type = `multipart/form-data; boundary=${BOUNDARY}`;
  const named = 'name="file"; filename="a.ndjson"';

  test.each([
    ['of a type', form([`${named}\r\nContent-Type: application/x-ndjson`, LINES])],
    ['without a type', form([named, LINES])],
    ['of a vague type', form([`${named}\r\nContent-Type: application/octet-stream`, ROWS])],
    ['that is compressed', form([`name=x; filename="a.ndjson.gz"\r\nContent-Type: application/gzip`, gzip])],
  ])('a file %s', async (_, body) => {
    expect(await upload({ body, type })).toEqual([[1], [2]]);
  });

  test('the whole form may be compressed, and fmt tells the format', async () => {
    const body = gzipSync(form(['name=f; filename="a.txt"\r\nContent-Type: text/xml', ROWS]));
    expect(await upload({ body, type, encoding: 'gzip' }, '/frames/t?fmt=json')).toEqual([[1], [2]]);
  });

  test.each([
    ['a field', form(['name="ttl"', '60'], [named, LINES]), /^400 .*The form has a field "ttl" that is not a file/],
    ['a field after the file', form([named, LINES], ['name="ttl"', '60']), /^400 .*has a field "ttl"/],
    ['two files', form([named, LINES], [named, LINES]), /^400 .*The form has more than one file/],
    ['a field without a name', form(['x=y', 'v']), /^400 invalid_data: The form has a field "" that is not a file/],
    ['no file', form(), /^400 invalid_data: The form/],
    [
      'a part without an end of its headers',
      form([named, LINES]).toString().replace('\r\n\r\n', '\r\n'),
      /^400 .*The form/,
    ],
    [
      'text after the boundary',
      form([named, `${LINES}\r\n--${BOUNDARY}x\r\n`]),
      /^400 invalid_data: The form has more than one part/,
    ],
    ['no end', form([named, LINES]).subarray(0, -8), /^400 invalid_data: The form cannot be read/],
    ['no parts', 'hello', /^400 invalid_data: The form/],
    ['an empty file', form([named, '']), /^400 invalid_data: The body is empty/],
    [
      'a file in base64',
      form([`${named}\r\nContent-Transfer-Encoding: base64`, 'e30=']),
      /^400 .*Content-Transfer-Encoding "base64"/,
    ],
    [
      'a file of another type',
      form([`${named}\r\nContent-Type: image/png`, LINES]),
      /^415 .*Content-Type "image\/png"/,
    ],
    ['too many bytes', form([named, LINES.repeat(1000)]), /^413 payload_too_large: The upload is longer than 10000/],
  ])('with %s is refused, and the frame stays', async (_, body, expected) => {
    await upload({ body: '{"id":9}' });
    expect(await upload({ body, type })).toMatch(expected);
    expect(await (await app.request('/exec?handle=t&fmt=json')).json()).toMatchObject({ dataset: [[9]] });
  });

  test('without a boundary is refused', async () => {
    expect(await upload({ body: 'x', type: 'multipart/form-data' })).toMatch(
      /^400 invalid_argument: .*has no boundary/,
    );
  });
});
