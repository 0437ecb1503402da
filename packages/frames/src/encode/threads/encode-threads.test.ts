import { execFile } from 'node:child_process';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Bool, type Data, Field, makeData, type RecordBatch, Schema, Utf8, vectorFromArray } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { createRecordBatch } from '../../columns/record-batch.ts';
import { type FrameStream, streamOfBatches } from '../../streams.ts';
import { bytesOf } from '../../testing/bytes-of.ts';
import { longFrame, SAMPLE_FRAMES, spoiltFrame } from '../../testing/sample-frames.ts';
import { batchRows, type RowFormat } from '../row-cursor.ts';
import { createRecordText } from '../columns/column.ts';
import { createCellOptions } from '../columns/create-column.ts';
import { encodeRows } from '../row-formats.ts';
import { createThreadPool, type EncodeThreads, type ThreadPool, writeInThreads } from './encode-threads.ts';
import { byTier } from '../../../../../test/tier.ts';

const MiB = 1024 * 1024;
/** After this many chunks, a result counts as long. */
const CHUNKS_OF_ONE_THREAD = 16;
const nothing = new Uint8Array(0);
const pool = createThreadPool({ threads: 2 });
/** A program that reports ready, and exits on its first request. */
const EXITING = `
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', () => process.exit());
  parentPort.postMessage('ready');`;

/** Rows as JSON arrays or CSV lines, with a comma between them to test the separator. */
function formatOf({ fields }: Schema, syntax: 'json' | 'csv' = 'json'): RowFormat {
  const leads = fields.map((_field, i) => (i > 0 ? ',' : '['));
  const row = createRecordText(leads, fields.length === 0 ? '[],' : '],');
  return { name: 'rows', head: nothing, row, cells: createCellOptions(syntax), separatorBytes: 1, tail: () => nothing };
}

/** The threads of a pool, as soon as they are free. */
async function threadsOf(threadPool: ThreadPool): Promise<EncodeThreads> {
  const owner = {};
  for (;;) {
    const threads = threadPool.take(owner);
    if (threads !== undefined) return threads;
    await setImmediate();
  }
}

/** Encodes all rows of a frame in threads; returns the text and the row count. */
async function writtenInThreads(source: FrameStream, format = formatOf(source.schema)) {
  const others = batchRows(source, format);
  const { value: current } = await others.next();
  if (current === undefined) return { text: '', count: 0 };
  const chunks = writeInThreads({ current, others, separatorBytes: 1 }, await threadsOf(pool));
  const parts: Buffer[] = [];
  for (;;) {
    const { done, value } = await chunks.next();
    if (done === true) return { text: Buffer.concat(parts).toString(), count: value };
    parts.push(Buffer.from(value));
  }
}

function frameOf(rows: number, columns: readonly Data[], batches = 1): FrameStream {
  const schema = new Schema(columns.map(({ type }, i) => new Field(`c${i}`, type, true)));
  return streamOfBatches(schema, Array<RecordBatch>(batches).fill(createRecordBatch(schema, rows, [...columns])));
}

/** Longer than a result that one thread writes. */
const longSource = (): FrameStream => longFrame(900_000, { batchRows: 50_000 });

async function* copied(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of chunks) yield new Uint8Array(chunk);
}

/** Returns whether threads wrote a long result, after a check that its bytes are the same as without threads. */
async function isWholeInThreads(threadPool: ThreadPool): Promise<boolean> {
  const format = formatOf(longSource().schema);
  let isInThreads = false;
  const observed: ThreadPool = {
    take(owner) {
      const threads = threadPool.take(owner);
      isInThreads ||= threads !== undefined;
      return threads;
    },
  };
  const written = await bytesOf(copied(encodeRows(longSource(), format, { reuseBuffers: true }, observed)));
  expect(written.equals(await bytesOf(encodeRows(longSource(), format, {})))).toBe(true);
  return isInThreads;
}

describe('threads write', () => {
  for (const [options, samples] of byTier(SAMPLE_FRAMES)) {
    test.each(samples)('$name, in JSON and CSV', options, async ({ schema, batches, rows }) => {
      for (const syntax of ['json', 'csv'] as const) {
        const { text, count } = await writtenInThreads(streamOfBatches(schema, batches), formatOf(schema, syntax));
        expect(text).toBe(rows.map((row) => `[${row[syntax].join(',')}]`).join(','));
        expect(count).toBe(rows.length);
      }
    });
  }

  test('batches that are valid only until the next one is requested', async () => {
    const texts = ['a', '\u0001'.repeat(0.9 * MiB), 'b', 'x'.repeat(3 * MiB), 'c'];
    const schema = new Schema([new Field('c0', new Utf8(), true)]);
    const batches = texts.map((text) => createRecordBatch(schema, 1, [vectorFromArray([text], new Utf8()).data[0]]));
    const { text } = await writtenInThreads(spoiltFrame(streamOfBatches(schema, batches)));
    expect(text === texts.map((value) => JSON.stringify([value])).join(',')).toBe(true);
  });

  test('rows whose text is far longer than the frame', async () => {
    const data = makeData({ type: new Bool(), length: 16_000, nullCount: 0, data: new Uint8Array(2000) });
    const { text } = await writtenInThreads(frameOf(16_000, Array(100).fill(data), 2));
    const row = `[${Array(100).fill('false').join(',')}]`;
    expect(text === Array(32_000).fill(row).join(',')).toBe(true);
  });

  test.each([0.9, 1.1, 5])('a text of %d MiB among short ones', { tags: ['slow'] }, async (size) => {
    const texts = ['a', '"'.repeat(size * MiB), 'b', 'c'];
    const { text } = await writtenInThreads(frameOf(4, vectorFromArray(texts, new Utf8()).data, 2));
    expect(text === [...texts, ...texts].map((value) => JSON.stringify([value])).join(',')).toBe(true);
  });

  test('no row that is too long, and fail with an error', { tags: ['slow'] }, async () => {
    const [texts] = vectorFromArray(['a', 'x'.repeat(2 * MiB)], new Utf8()).data;
    const written = writtenInThreads(frameOf(2, Array(100).fill(texts)));
    await expect(written).rejects.toThrow('Row 2 of the result can take more than 128 MiB as rows.');
  });

  test('no value that points outside its buffer, and others continue', async () => {
    const valueOffsets = new Int32Array([0, 1, 9]);
    const broken = makeData({ type: new Utf8(), length: 2, nullCount: 0, valueOffsets, data: Buffer.from('abc') });
    await expect(writtenInThreads(frameOf(2, [broken]))).rejects.toThrow(RangeError);
    expect((await writtenInThreads(longFrame(2))).text).toBe('[0],[1]');
  });
});

describe('a long result', () => {
  test('is written in threads if they are free, in order', async () => {
    (await threadsOf(pool)).release();
    expect(await isWholeInThreads(pool)).toBe(true);
  });

  test('is written without threads if another result has them', { tags: ['slow'] }, async () => {
    const threads = await threadsOf(pool);
    expect(await isWholeInThreads(pool)).toBe(false);
    threads.release();
  });

  test.each<[name: string, pool: ThreadPool]>([
    ['there is only one core', createThreadPool({ threads: 1 })],
    ['their program is missing', createThreadPool({ threads: 2, program: new URL('missing.js', import.meta.url) })],
    ['their program fails', createThreadPool({ threads: 2, program: programOf('throw new Error()') })],
  ])('is written without threads if %s', { tags: ['slow'] }, async (_name, threadPool) => {
    for (let times = 0; times < 2; times++) expect(await isWholeInThreads(threadPool)).toBe(false);
  });

  test('is written without threads while another is being written', { tags: ['slow'] }, async () => {
    (await threadsOf(pool)).release();
    const taken: (EncodeThreads | undefined)[] = [];
    const observed: ThreadPool = {
      take(owner) {
        taken.push(pool.take(owner));
        return taken.at(-1);
      },
    };
    const format = formatOf(longSource().schema);
    const results = [1, 2].map(() => encodeRows(longSource(), format, { reuseBuffers: true }, observed));
    while ((await Promise.all(results.map((result) => result.next()))).some(({ done }) => done !== true));
    expect(taken.length).toBeGreaterThan(2 * CHUNKS_OF_ONE_THREAD);
    expect(taken.every((threads) => threads === undefined)).toBe(true);
  });

  test('whose reader stops releases the threads and the frame', async () => {
    let isClosed = false;
    const { schema, batches } = longSource();
    async function* observed() {
      try {
        yield* batches;
      } finally {
        isClosed = true;
      }
    }
    (await threadsOf(pool)).release();
    const source = { schema, batches: observed() };
    let chunks = 0;
    for await (const _chunk of encodeRows(source, formatOf(schema), { reuseBuffers: true }, pool)) {
      chunks += 1;
      if (chunks > CHUNKS_OF_ONE_THREAD + 3) break;
    }
    expect(isClosed).toBe(true);
    expect((await writtenInThreads(longFrame(2))).text).toBe('[0],[1]');
  });

  test('fails if a thread exits, and the next one succeeds', { tags: ['slow'] }, async () => {
    const exiting = createThreadPool({ threads: 2, program: programOf(EXITING) });
    (await threadsOf(exiting)).release();
    const { schema } = longSource();
    const chunks = copied(encodeRows(longSource(), formatOf(schema), { reuseBuffers: true }, exiting));
    await expect(bytesOf(chunks)).rejects.toThrow('An encoder thread exited.');
    const threads = await threadsOf(exiting);
    expect(await isWholeInThreads(exiting)).toBe(false);
    threads.release();
  });
});

test.each([1, 5])('a process exits after writing %d long results', { tags: ['slow'] }, async (results) => {
  const script = `
    import { encodeCsv, streamFromTable } from '@svc/frames';
    import { tableFromArrays } from 'apache-arrow';
    const table = tableFromArrays({ id: Int32Array.from({ length: 1_000_000 }, (_, i) => i) });
    let bytes = 0;
    for (let times = 0; times < ${results}; times++) {
      for await (const chunk of encodeCsv(streamFromTable(table), { reuseBuffers: true })) bytes += chunk.length;
    }
    console.log(bytes);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: new URL('../../..', import.meta.url),
    timeout: 20_000,
  });
  expect(stdout).toBe(`${results * 7_888_894}\n`);
});

/** The URL of a program for a thread. */
function programOf(code: string): URL {
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`);
}
