import { Float64, makeData, RecordBatch, RecordBatchStreamWriter, Schema, Field, Struct, Utf8 } from 'apache-arrow';
import type { ServerProcess } from './server-process.ts';

/** The number of rows that take about 140 MB. */
export const ROWS = 140_000;
const CHUNK_ROWS = 2000;
const TEXT = 'some text that takes its place in the body of an upload, as texts do '.repeat(15);

/** Rows of JSON, with something between and around them. */
export async function* jsonRows(
  start: string,
  between: string,
  last: string,
  count = ROWS,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(start);
  for (let at = 0; at < count; at += CHUNK_ROWS) {
    const rows = Array.from({ length: CHUNK_ROWS }, (_, i) => `{"id":${at + i},"text":"${TEXT}"}${between}`);
    yield Buffer.from(rows.join(''));
  }
  yield Buffer.from(last);
}

async function* arrowRows(count = ROWS): AsyncGenerator<Uint8Array> {
  const schema = new Schema([new Field('id', new Float64(), false), new Field('text', new Utf8(), false)]);
  const offsets = Int32Array.from({ length: CHUNK_ROWS + 1 }, (_, i) => i * TEXT.length);
  const texts = Buffer.from(TEXT.repeat(CHUNK_ROWS));
  const writer = new RecordBatchStreamWriter();
  const reader = writer[Symbol.asyncIterator]();
  for (let at = 0; at < count; at += CHUNK_ROWS) {
    const ids = Float64Array.from({ length: CHUNK_ROWS }, (_, i) => at + i);
    const children = [
      makeData({ type: new Float64(), data: ids }),
      makeData({ type: new Utf8(), valueOffsets: offsets, data: texts }),
    ];
    const data = makeData({ type: new Struct(schema.fields), length: CHUNK_ROWS, nullCount: 0, children });
    writer.write(new RecordBatch(schema, data));
    yield (await reader.next()).value;
  }
  writer.finish();
  for (let next = await reader.next(); next.done !== true; next = await reader.next()) yield next.value;
}

/** Puts a body under the handle t. */
export async function put(server: ServerProcess, type: string, body: AsyncIterable<Uint8Array>): Promise<Response> {
  const headers = { 'content-type': type };
  return server.fetch('/frames/t', { method: 'PUT', body: ReadableStream.from(body), duplex: 'half', headers });
}

/** Bodies of some rows. */
export const BODIES = {
  'application/json': (count?: number) => jsonRows('[', ',', '{"id":-1,"text":null}]', count),
  'application/x-ndjson': (count?: number) => jsonRows('', '\n', '{"id":-1,"text":null}\n', count),
  'application/vnd.apache.arrow.stream': arrowRows,
} as const;
