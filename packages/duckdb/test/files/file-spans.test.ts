// The spans of the child that reads and writes the files of frames.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type EngineSpan, parseHandle, type RequestOrigin } from '@svc/frames';
import { longFrame, readRows } from '@svc/frames/testing';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { ChildEnd } from '../../src/child-link/child-errors.ts';
import { createFrameFiles, type DuckdbFrameFiles } from '../../src/files/create-frame-files.ts';
import { createDurableStore, type DurableStore } from '../../src/store/durable-store.ts';

const SPAN = '00f067aa0ba902b7';
const trace = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: SPAN, isSampled: true, isRecorded: true };
const origin: RequestOrigin = { requestId: 'r-7', trace };
const ref = { tenant: 'default', handle: parseHandle('t') };

let directory: string;
let files: DuckdbFrameFiles;
let store: DurableStore;
const ends: Promise<ChildEnd>[] = [];
const seen: EngineSpan[] = [];
const onSpans = vi.fn<(of: RequestOrigin, spans: readonly EngineSpan[]) => void>((_of, spans) => {
  seen.push(...spans);
});

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'file-spans-'));
  files = createFrameFiles({ tempDirectory: directory, onSpans, onChild: ({ exited }) => ends.push(exited) });
  // No cache: every read is from disk.
  store = await createDurableStore({ directory: join(directory, 'frames'), files, cacheBytes: 0 });
});

afterAll(async () => {
  await store.close();
  await rm(directory, { recursive: true });
});

beforeEach(() => {
  seen.length = 0;
  onSpans.mockClear();
});

/** The names of the spans below another one. Whether a child was ready before is a matter of time. */
const below = (parentSpanId: string | undefined): readonly string[] =>
  seen.filter((span) => span.parentSpanId === parentSpanId && span.name !== 'start').map(({ name }) => name);

const named = (name: string): EngineSpan | undefined => seen.find((span) => span.name === name);

async function read(of?: RequestOrigin): Promise<number> {
  const frame = await store.open(ref);
  try {
    return (await readRows(frame?.read({ ...(of && { origin: of }) }) ?? longFrame(0))).length;
  } finally {
    frame?.close();
  }
}

test('a put of rows, and one of a file, have the span of the write', async () => {
  await store.put(ref, longFrame(5), { origin });
  await store.put(ref, { format: 'csv', body: Readable.from([Buffer.from('id\n1\n')]) }, { origin });
  expect(below(SPAN)).toEqual(['duckdb write', 'duckdb copy']);
  expect(onSpans.mock.calls.map(([of]) => of)).toEqual([origin, origin]);
});

test('a read has its steps', async () => {
  await store.put(ref, longFrame(5));
  expect(await read(origin)).toBe(5);
  expect(below(SPAN)).toEqual(['duckdb read']);
  expect(below(named('duckdb read')?.spanId)).toEqual(expect.arrayContaining(['execute', 'fetch']));
  expect(named('duckdb read')?.attributes).toMatchObject({ 'svc.batches': 1 });
});

test('without an origin, or if its trace is not recorded, there are none', async () => {
  const { isRecorded: _isRecorded, ...notRecorded } = trace;
  await store.put(ref, longFrame(5));
  await store.put(ref, longFrame(5), { origin: { requestId: 'r-7', trace: notRecorded } });
  expect(await read()).toBe(5);
  expect(onSpans).not.toHaveBeenCalled();
});

test('a child that is killed names the requests that it was working on', async () => {
  const { schema, batches: rows } = longFrame(5);
  async function* batches(): typeof rows {
    yield* rows;
    // The child has the first rows, and waits for more.
    process.kill(files.childPid ?? 0, 'SIGKILL');
    await ends.at(-1);
  }
  await expect(store.put(ref, { schema, batches: batches() }, { origin })).rejects.toThrow();
  expect(await ends.at(-1)).toEqual({ reason: 'crashed', requests: [origin] });
});
