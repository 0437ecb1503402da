import { gunzipSync } from 'node:zlib';
import { createMemoryStore, type FrameStream, parseHandle, type Store } from '@svc/frames';
import { spoiltFrame, streamOfBatches } from '@svc/frames/testing';
import { createService } from '@svc/service';
import { Bool, Field, Float64, Int64, List, Table, tableFromIPC, Utf8, vectorFromArray } from 'apache-arrow';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createExecApp } from '../index.ts';

/** A store that overwrites each batch on the next `next()` if `reuseBuffers` is set. */
function createReusingStore(): Store & { reusingReads: number } {
  const memory = createMemoryStore();
  const store: Store & { reusingReads: number } = {
    ...memory,
    reusingReads: 0,
    async open(ref) {
      const frame = await memory.open(ref);
      if (frame === undefined) return undefined;
      return {
        ...frame,
        read(options = {}): FrameStream {
          if (options.reuseBuffers !== true) return frame.read(options);
          store.reusingReads += 1;
          return spoiltFrame(frame.read(options));
        },
      };
    },
  };
  return store;
}

const SHAPES = [
  { rows: 10, batchRows: 3 },
  { rows: 1000, batchRows: 7 },
  { rows: 30_000, batchRows: 10_000 },
];

function frameOf(rows: number, batchRows: number): FrameStream {
  const ids = Array.from({ length: rows }, (_, i) => i);
  const table = new Table({
    id: vectorFromArray(ids.map(BigInt), new Int64()),
    text: vectorFromArray(
      ids.map((id) => (id % 7 === 3 ? null : 'ü'.repeat(id % 40))),
      new Utf8(),
    ),
    flag: vectorFromArray(
      ids.map((id) => id % 3 === 0),
      new Bool(),
    ),
    list: vectorFromArray(
      ids.map((id) => [id, id % 5 === 0 ? null : id / 8]),
      new List(new Field('item', new Float64(), true)),
    ),
  });
  const starts = Array.from({ length: Math.ceil(rows / batchRows) }, (_, i) => i * batchRows);
  return streamOfBatches(
    table.schema,
    starts.flatMap((start) => table.slice(start, start + batchRows).batches),
  );
}

const PATHS = [
  '/exec?handle=mixed&fmt=json&limit=1,',
  '/exec?handle=mixed&fmt=json&limit=1,&timings=true',
  '/exec?handle=mixed&fmt=json&limit=3,876',
  '/exp?handle=mixed&fmt=csv',
  '/exp?handle=mixed&fmt=ndjson',
  '/exp?handle=mixed&fmt=arrow',
  '/exp?handle=mixed&fmt=arrow&limit=3,9876&timings=true',
];

const casesOf = (shapes: typeof SHAPES) =>
  shapes.flatMap((shape) => PATHS.map((path) => [path, shape.rows, shape.batchRows] as const));

describe('is the same if buffers are reused, and if the response is compressed or cached', () => {
  test.each(casesOf(SHAPES.slice(0, 1)))('%s of %i rows in batches of %i', expectSame);
  test.each(casesOf(SHAPES.slice(1)))('%s of %i rows in batches of %i, too', { tags: ['slow'] }, expectSame);
});

async function expectSame(path: string, rows: number, batchRows: number): Promise<void> {
  const bodies = [];
  const store = createReusingStore();
  for (const side of [createMemoryStore(), store]) {
    await side.put({ tenant: 'default', handle: parseHandle('mixed') }, frameOf(rows, batchRows));
    const service = createService({ store: side });
    onTestFinished(() => service.close());
    const app = createExecApp({ service });
    for (const encoding of ['identity', 'identity', 'identity', 'gzip']) {
      const response = await app.request(path, { headers: { 'accept-encoding': encoding } });
      const bytes = Buffer.from(await response.arrayBuffer());
      bodies.push(valuesOf(path, response.headers.has('content-encoding') ? gunzipSync(bytes) : bytes));
    }
  }
  expect(store.reusingReads).toBeGreaterThan(0);
  for (const body of bodies) expect(body === bodies[0]).toBe(true);
}

function valuesOf(path: string, bytes: Buffer): string {
  if (!path.includes('arrow')) return bytes.toString().replace(/"timings":\{[^}]*\}/, '');
  return tableFromIPC(bytes).toArray().map(String).join('\n');
}
