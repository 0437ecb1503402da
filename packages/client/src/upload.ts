import type { Table } from 'apache-arrow';
import { InexactError, writeExact } from './json/exact-json.ts';
import type { RequestBody } from './http/request-body.ts';
import { ClientError } from './http/client-error.ts';
import { type ArrowLibrary, isArrowTable, loadArrow } from './load-arrow.ts';

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
export interface Upload<B extends RequestBody = RequestBody> {
  readonly body: B;
  readonly format?: 'ndjson' | 'arrow';
}

/** Characters of rows that are sent together. */
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
