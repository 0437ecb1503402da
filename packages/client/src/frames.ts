import type { Table } from 'apache-arrow';
import type {
  CallOptions,
  FrameInfo,
  KeepOptions,
  ListedFrame,
  ListOptions,
  UploadOptions,
  WriteOptions,
  WrittenFrame,
} from './options.ts';
import { ClientError } from './http/client-error.ts';
import type {
  ClientRequest,
  ClientResponse,
  ByteStream,
  RequestBody,
  SingleRequest,
  Transport,
} from './http/request.ts';
import { readJson } from './http/transport.ts';
import { InexactError, writeExact } from './json/exact-json.ts';
import { quotedName } from './rows.ts';

type Http = Transport<SingleRequest>;

/** Reads the metadata of a frame. */
export async function describeFrame(http: Http, handle: string, call: CallOptions = {}): Promise<FrameInfo> {
  return readJson(await http.send({ path: framePath(handle), ...call }));
}

/** Sets the seconds until a frame expires; null: it never does. */
export async function setFrameTtl(
  http: Http,
  handle: string,
  ttl: number | null,
  call: CallOptions = {},
): Promise<FrameInfo> {
  return changeFrame(http, handle, { ttl }, call);
}

/** Gives a frame another handle. */
export async function renameFrame(
  http: Http,
  handle: string,
  newHandle: string,
  call: CallOptions = {},
): Promise<FrameInfo> {
  return changeFrame(http, handle, { handle: newHandle }, call);
}

async function changeFrame(http: Http, handle: string, change: object, call: CallOptions): Promise<FrameInfo> {
  const headers = { 'content-type': 'application/json' };
  const request = { method: 'PATCH', path: framePath(handle), headers, body: JSON.stringify(change) } as const;
  return readJson(await http.send({ ...request, ...call }));
}

/** Drops a frame. */
export async function dropFrame(http: Http, handle: string, call: CallOptions = {}): Promise<void> {
  const { body } = await http.send({ method: 'DELETE', path: framePath(handle), ...call });
  await body.return();
}

const PAGE = 500;

/** Lists the frames, sorted by handle. */
export async function* listFrames(http: Http, options: ListOptions = {}): AsyncGenerator<ListedFrame, void> {
  const { prefix, ...call } = options;
  let after: string | undefined;
  for (;;) {
    const response = await http.send({ path: 'frames', params: { prefix, after, limit: PAGE }, ...call });
    const { frames } = await readJson<{ readonly frames: readonly ListedFrame[] }>(response);
    yield* frames;
    const last = frames.at(-1)?.handle;
    // A server that ignores `after` would cause an endless loop.
    if (frames.length !== PAGE || last === after) return;
    after = last;
  }
}

/** Makes the request to send data as a frame: PUT replaces one, POST extends one. */
export function writeRequest<B extends RequestBody>(
  /** Without a handle the server makes one. */
  target: { readonly method: 'PUT' | 'POST'; readonly handle: string | undefined },
  { body, format: found }: Upload<B>,
  { columns, encoding, params, format, ...options }: UploadOptions,
): Written<B> {
  return {
    method: target.method,
    path: target.handle === undefined ? 'frames' : framePath(target.handle),
    body,
    ...conditions(options, {
      // Without a type, fetch would make one of the kind of body.
      'content-type': 'application/octet-stream',
      'content-encoding': encoding,
    }),
    params: { fmt: format ?? found, ttl: options.ttl, columns: columns && columnList(columns), ...params },
  };
}

/** Makes the request to store the result of SQL as a frame. */
export function keepRequest(sql: string, options: KeepOptions): Written<string> {
  const { engine, handle, ttl, params } = options;
  return {
    method: 'POST',
    path: 'frames',
    body: exactJson({ sql, engine, handle, ttl, params: params?.map(keptParameter) }),
    ...conditions(options, { 'content-type': 'application/json' }),
    // What SQL does in the time-series database is not known.
    ...(engine === 'tsdb' && { repeat: 'never' }),
  };
}

/** A request to write a frame. */
type Written<B> = Omit<SingleRequest, 'body'> & Pick<ClientRequest, 'repeat'> & { readonly body: B };

/** Reads the metadata of a written frame. */
export async function writtenFrame(response: ClientResponse): Promise<WrittenFrame> {
  return { ...(await readJson<FrameInfo>(response)), isNew: response.status === 201 };
}

/** The server takes an integer beyond a `number` only as a string of its digits. */
function keptParameter(value: unknown): unknown {
  return typeof value === 'bigint' && !Number.isSafeInteger(Number(value)) ? String(value) : value;
}

/** What the condition of a write means for its request: with one, it cannot be taken twice. */
function conditions(
  { ifNew = false, ifVersion, signal, requestId }: WriteOptions,
  headers: Readonly<Record<string, string | undefined>>,
): Pick<ClientRequest, 'headers' | 'repeat' | 'signal' | 'requestId'> {
  const isConditional = ifNew || ifVersion !== undefined;
  return {
    signal,
    requestId,
    repeat: isConditional ? 'conditional' : 'write',
    headers: {
      ...headers,
      'if-none-match': ifNew ? '*' : undefined,
      'if-match': ifVersion === undefined ? undefined : `"${ifVersion}"`,
    },
  };
}

function columnList(columns: Readonly<Record<string, string | null>>): string {
  return Object.entries(columns)
    .map(([name, type]) => quotedName(type === null ? name : `${name}:${type}`))
    .join();
}

/** Data to send: rows, one by one or all together, text or bytes of a format, or an Arrow table. */
export type UploadData =
  | Iterable<object>
  | AsyncIterable<object | Uint8Array>
  | ReadableStream<Uint8Array>
  | string
  | Uint8Array
  | ArrayBuffer
  | Blob
  | Table;

/** A body, and its format if it is known. */
interface Upload<B extends RequestBody = RequestBody> {
  readonly body: B;
  readonly format?: 'ndjson' | 'arrow';
}

/** The characters of rows in one chunk. */
const CHUNK_CHARACTERS = 64 * 1024;

/** Makes the body of data. */
export async function uploadOf(data: UploadData, arrow: ArrowLibrary | undefined): Promise<Upload> {
  if (typeof data === 'string' || data instanceof Uint8Array || data instanceof Blob) return { body: data };
  if (data instanceof ArrayBuffer) return { body: new Uint8Array(data) };
  if (isArrowTable(data)) return { body: (await loadArrow(arrow)).tableToIPC(data, 'stream'), format: 'arrow' };
  if (Array.isArray(data)) return { body: data.map(lineOf).join(''), format: 'ndjson' };
  return streamUpload(data);
}

async function streamUpload(data: Iterable<object> | AsyncIterable<object> | ReadableStream): Promise<Upload> {
  const items = itemsOf(data);
  // The first item tells bytes from rows.
  const first = await items.next();
  if (first.done !== true && first.value instanceof Uint8Array) return { body: bytes(first.value, items) };
  return { body: lines(first, items), format: 'ndjson' };
}

async function* itemsOf(
  data: Iterable<object> | AsyncIterable<object> | ReadableStream<object>,
): AsyncGenerator<object, void> {
  // Not every browser iterates over streams.
  if (!(data instanceof ReadableStream)) {
    yield* data;
    return;
  }
  const reader = data.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

async function* bytes(first: Uint8Array, rest: AsyncGenerator<object>): AsyncGenerator<Uint8Array> {
  yield first;
  for await (const chunk of rest) if (chunk instanceof Uint8Array) yield chunk;
}

async function* lines(first: IteratorResult<object>, rest: AsyncGenerator<object>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  if (first.done === true) return;
  let text = lineOf(first.value);
  for await (const row of rest) {
    text += lineOf(row);
    if (text.length < CHUNK_CHARACTERS) continue;
    yield encoder.encode(text);
    text = '';
  }
  yield encoder.encode(text);
}

function lineOf(row: object): string {
  return `${exactJson(row)}\n`;
}

/** Writes a value as JSON. */
export function exactJson(value: unknown): string {
  try {
    return writeExact(value);
  } catch (cause) {
    if (cause instanceof InexactError) {
      throw new ClientError(cause.message, { code: 'inexact_value', hint: 'Send an Arrow table.', cause });
    }
    // JSON has no such value, or it contains itself.
    if (!(cause instanceof TypeError)) throw cause;
    const hint = 'Send numbers, strings, booleans, null, dates, and arrays and objects of them.';
    throw new ClientError(cause.message, { code: 'invalid_argument', hint, cause });
  }
}

/** Returns the bytes of a response as a stream. Cancelling it closes the connection, and calls `onCancel`. */
export function streamOf(body: ByteStream, onCancel?: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await body.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await body.return();
        onCancel?.();
      },
    },
    { highWaterMark: 0 },
  );
}

/** Returns the path of a frame. The server checks the handle; here it only must not vanish from the URL. */
function framePath(handle: string): string {
  if (!/^\.{0,2}$/.test(handle)) return `frames/${encodeURIComponent(handle)}`;
  throw new ClientError(`${JSON.stringify(handle)} is not a valid handle.`, {
    code: 'invalid_argument',
    hint: 'A handle has 1 to 128 letters, digits, dots, dashes and underscores, and begins with a letter or digit.',
  });
}

/** The functions of `apache-arrow` for tables. */
export interface ArrowLibrary {
  tableFromIPC(source: AsyncIterable<Uint8Array>): Promise<Table>;
  tableToIPC(table: Table, format: 'stream'): Uint8Array;
}

/** Loads `apache-arrow`. The user of Arrow tables has to install it. */
export async function loadArrow(given: ArrowLibrary | undefined): Promise<ArrowLibrary> {
  if (given !== undefined) return given;
  try {
    return await import('apache-arrow');
  } catch (cause) {
    throw new ClientError('The package apache-arrow cannot be loaded.', {
      code: 'arrow_missing',
      hint: 'Install apache-arrow, or pass it as the option arrow.',
      cause,
    });
  }
}

/** True for a table of any copy of `apache-arrow`. */
function isArrowTable(data: unknown): data is Table {
  return typeof data === 'object' && data !== null && 'schema' in data && 'batches' in data;
}
