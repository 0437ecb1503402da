import { readFileSync } from 'node:fs';
import { Float64, makeData, RecordBatch, RecordBatchStreamWriter, Schema, Field, Struct, Utf8 } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { type ServerProcess, startProcess } from './server-process.ts';

const CACHE_BYTES = 20e6;
const ALLOWED_GROWTH_BYTES = 100e6;
const ROWS = 140_000;
const CHUNK_ROWS = 2000;
const TEXT = 'some text that takes its place in the body of an upload, as texts do '.repeat(15);

/** Two passes over such a body take some seconds where the machine is busy. */
const TIMEOUT_MS = 60_000;

/** Rows of JSON, about 140 MB, with something between and around them. */
async function* jsonRows(start: string, between: string, last: string, count = ROWS): AsyncGenerator<Uint8Array> {
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

function rssOf({ child }: ServerProcess): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024;
}

async function put(server: ServerProcess, type: string, body: AsyncIterable<Uint8Array>): Promise<Response> {
  const headers = { 'content-type': type };
  return server.fetch('/frames/t', { method: 'PUT', body: ReadableStream.from(body), duplex: 'half', headers });
}

const BODIES = {
  'application/json': (count?: number) => jsonRows('[', ',', '{"id":-1,"text":null}]', count),
  'application/x-ndjson': (count?: number) => jsonRows('', '\n', '{"id":-1,"text":null}\n', count),
  'application/vnd.apache.arrow.stream': arrowRows,
} as const;

describe.skipIf(process.platform !== 'linux')('an upload of several times the memory for frames', () => {
  test.each(Object.entries(BODIES))(
    'of %s is taken, and the server grows by little',
    async (type, body) => {
      const server = await startProcess({ args: ['--cache-size', String(CACHE_BYTES / 1e9)] });
      // What the process takes for the first ones of their kind is not what is asked.
      for (let times = 0; times < 4; times++) await (await put(server, type, body(ROWS / 7))).text();
      const before = rssOf(server);
      let most = before;
      const timer = setInterval(() => (most = Math.max(most, rssOf(server))), 20);
      const answer = await put(server, type, body()).finally(() => clearInterval(timer));
      expect([answer.status, await answer.json()]).toMatchObject([
        200,
        { rows: type.includes('json') ? ROWS + 1 : ROWS, tier: 'disk' },
      ]);
      expect(most - before).toBeLessThan(ALLOWED_GROWTH_BYTES);
      const tail = await server.fetch(`/exec?handle=t&fmt=json&cols=id&limit=${ROWS},`);
      expect(await tail.json()).toMatchObject({ dataset: type.includes('json') ? [[ROWS - 1], [-1]] : [[ROWS - 1]] });
    },
    TIMEOUT_MS,
  );

  test(
    'with a row that is wrong at its end is 400 with that row, and the old frame stays',
    async () => {
      const server = await startProcess({ args: ['--cache-size', String(CACHE_BYTES / 1e9)] });
      await server.put('t', [{ id: 1 }]);
      for (const [type, body] of [
        ['application/json', jsonRows('[', ',', '{"id":nope}]')],
        ['application/x-ndjson', jsonRows('', '\n', '{"id":nope}\n')],
      ] as const) {
        const answer = await put(server, type, body);
        expect([answer.status, await answer.json()]).toMatchObject([
          400,
          { code: 'invalid_data', error: expect.stringMatching(/^Row 140001, column "id"/) },
        ]);
      }
      expect(await (await server.fetch('/exec?handle=t&fmt=json')).json()).toMatchObject({ dataset: [[1]] });
    },
    TIMEOUT_MS,
  );
});
