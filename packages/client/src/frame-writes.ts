import type { ClientRequest, ClientResponse, Transport } from './http/request.ts';
import type { ArrowLibrary } from './load-arrow.ts';
import type { KeepOptions, UploadOptions, WriteOptions } from './options.ts';
import { framePath } from './frame-path.ts';
import { readJson } from './http/read-json.ts';
import { sendSql } from './running-queries.ts';
import type { FrameInfo, WrittenFrame } from './types.ts';
import { exactJson, type UploadData, uploadOf } from './upload.ts';

/** Sends data as a frame: with PUT it replaces one, with POST it extends one. Without a handle the server makes one. */
export async function writeFrame(
  http: Transport,
  target: { readonly method: 'PUT' | 'POST'; readonly handle: string | undefined },
  data: UploadData,
  { columns, encoding, params, format, ...options }: UploadOptions & { readonly arrow: ArrowLibrary | undefined },
): Promise<WrittenFrame> {
  const path = target.handle === undefined ? 'frames' : framePath(target.handle);
  const { body, format: found } = await uploadOf(data, options.arrow);
  const response = await http.send({
    method: target.method,
    path,
    body,
    ...conditions(options, {
      // Without a type, fetch would make one of the kind of body.
      'content-type': 'application/octet-stream',
      'content-encoding': encoding,
    }),
    params: { ...params, fmt: format ?? found, ttl: options.ttl, columns: columns && columnList(columns) },
  });
  return written(response);
}

/** Stores the result of SQL as a frame. */
export async function keepSql(http: Transport, sql: string, options: KeepOptions): Promise<WrittenFrame> {
  const { engine, handle, ttl, params, onProgress } = options;
  const request: ClientRequest = {
    method: 'POST',
    path: 'frames',
    body: exactJson({ sql, engine, handle, ttl, params: params?.map(keptParameter) }),
    ...conditions(options, { 'content-type': 'application/json' }),
    // What SQL does in the time-series database is not known.
    ...(engine === 'tsdb' && { repeat: 'never' }),
  };
  return written((await sendSql(http, request, onProgress)).response);
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

async function written(response: ClientResponse): Promise<WrittenFrame> {
  return { ...(await readJson<FrameInfo>(response)), isNew: response.status === 201 };
}

function columnList(columns: Readonly<Record<string, string | null>>): string {
  return Object.entries(columns)
    .map(([name, type]) => quotedName(type === null ? name : `${name}:${type}`))
    .join();
}

/** Quotes an entry of a list if it has a character of the list. */
export function quotedName(name: string): string {
  return /^[^",]+$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}
