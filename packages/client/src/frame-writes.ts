import type { ClientRequest, ClientResponse, SingleRequest } from './http/request.ts';
import type { RequestBody } from './http/request-body.ts';
import type { KeepOptions, UploadOptions, WriteOptions } from './options.ts';
import { framePath } from './frame-path.ts';
import { readJson } from './http/read-json.ts';
import type { FrameInfo, WrittenFrame } from './types.ts';
import { exactJson, type Upload } from './upload.ts';
import { quotedName } from './quoted-name.ts';

/** Makes the request that sends data as a frame: with PUT it replaces one, with POST it extends one. */
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

/** Makes the request that stores the result of SQL as a frame. */
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

/** A request that writes a frame. */
type Written<B> = Omit<SingleRequest, 'body'> & Pick<ClientRequest, 'repeat'> & { readonly body: B };

/** Reads the metadata of a frame that was written. */
export async function writtenFrame(response: ClientResponse): Promise<WrittenFrame> {
  return { ...(await readJson<FrameInfo>(response)), isNew: response.status === 201 };
}

/** The server takes an integer that a `number` cannot hold only as a string of its digits. */
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
