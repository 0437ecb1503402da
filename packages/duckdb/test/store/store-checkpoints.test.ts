import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { streamFromTable } from '@svc/frames';
import { longFrame, readRows } from '@svc/frames/testing';
import { Int32, Table, tableFromIPC, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { FrameFiles } from '../../src/files/frame-files.ts';
import { createTenantSlots, slotOf } from '../../src/store/catalogue/frame-slots.ts';
import type { StoreProblem } from '../../src/store/catalogue/store-problem.ts';
import { trimLog } from '../../src/store/log/checkpoint.ts';
import { createArrowFrameFiles } from '../../src/testing/arrow-frame-files.ts';
import { createStoreFixture, refOf, rowsOf, type StoreFixture } from '../../src/testing/store-fixture.ts';
import { createTestFiles } from '../../src/testing/test-files.ts';

const trades = refOf('trades');
let fixture: StoreFixture;
let log: string;

beforeEach(async () => {
  fixture = await createStoreFixture();
  log = join(fixture.folder, 'trades', '_delta_log');
});

afterEach(() => fixture.remove());

/** Changes the frame, and waits until its log is trimmed. */
async function change(times: number, options: Parameters<StoreFixture['open']>[0] = {}): Promise<void> {
  const store = await fixture.open(options);
  for (let i = 0; i < times; i++) await store.put(trades, longFrame(1, { start: i }));
  await store.close();
}

const entry = (number: number): string => `${String(number).padStart(20, '0')}.json`;
const checkpoint = (number: number): string => entry(number).replace('json', 'checkpoint.parquet');

/** The files of a log with the entries `first` to `last`. */
function logOf(first: number, last: number, checkpoints: readonly number[]): string[] {
  const entries = Array.from({ length: last - first + 1 }, (_, i) => entry(first + i));
  return [
    ...entries,
    ...checkpoints.map(checkpoint),
    ...(checkpoints.length > 0 ? ['_last_checkpoint'] : []),
  ].toSorted();
}

const filesInLog = async (): Promise<string[]> => (await readdir(log)).toSorted();
const lastCheckpoint = async (): Promise<unknown> => JSON.parse(await readFile(join(log, '_last_checkpoint'), 'utf8'));

test.each([
  [31, 0, 30, []],
  [32, 0, 31, [31]],
  [63, 0, 62, [31]],
  [64, 31, 63, [31, 63]],
  [100, 63, 99, [63, 95]],
])(
  'after %i changes a log has the entries %i to %i and the checkpoints %j',
  async (changes, first, last, checkpoints) => {
    await change(changes);
    expect(await filesInLog()).toEqual(logOf(first, last, checkpoints));
  },
);

test('files of others with the names of later checkpoints hide none of ours', async () => {
  await change(1);
  for (const number of [998, 999]) await writeFile(join(log, checkpoint(number)), 'no Parquet');
  await change(99);
  expect(await filesInLog()).toEqual([...logOf(63, 99, [63, 95]), checkpoint(998), checkpoint(999)].toSorted());
  expect(await lastCheckpoint()).toMatchObject({ version: 95 });
});

test('a change of the expiry counts', async () => {
  const store = await fixture.open();
  await store.put(trades, longFrame(1));
  for (let i = 0; i < 63; i++) await store.expire(trades, 1000 + i);
  await store.close();
  expect(await filesInLog()).toEqual(logOf(31, 63, [31, 63]));
});

test('a checkpoint has the protocol, the columns and the parts of its version, and no more', async () => {
  const store = await fixture.open();
  for (let i = 0; i < 32; i++) await store.append(trades, longFrame(2, { start: i }));
  await store.close();
  const rows = tableFromIPC(await readFile(join(log, checkpoint(31)))).toArray();
  const actions = JSON.parse(
    JSON.stringify(rows, (_, value: unknown) => (typeof value === 'bigint' ? Number(value) : value)),
  );
  const [{ protocol }, { metaData }, ...added] = actions;
  expect(protocol).toEqual({
    minReaderVersion: 1,
    minWriterVersion: 7,
    readerFeatures: null,
    writerFeatures: ['svcFrames'],
  });
  const { metaData: first } = JSON.parse((await readFile(join(log, entry(0)), 'utf8')).split('\n')[2] ?? '');
  expect({ ...metaData, createdTime: 0 }).toEqual({ ...first, createdTime: 0 });
  const parts = (await fixture.parts('trades')).map((path) => basename(path));
  expect(added.map(({ add }: { add: { path: string } }) => add.path).toSorted()).toEqual(parts);
  expect(added[0]).toMatchObject({
    protocol: null,
    metaData: null,
    add: { partitionValues: {}, stats: '{"numRecords":2}' },
  });
  expect(await lastCheckpoint()).toEqual({ version: 31, size: 34 });
});

test('DuckDB writes the names of columns as they are', async () => {
  const files = createTestFiles('duckdb', tmpdir());
  onTestFinished(() => files.close());
  const names = [`a'); DROP TABLE "x"; --`, '"', "'", 'ü 😀', '{}', '\\', 'a'.repeat(1000)];
  const one = vectorFromArray([1], new Int32());
  const table = new Table(Object.fromEntries(names.map((name) => [name, one])));
  const store = await fixture.open({ files: { ...files, close: async () => {} } });
  for (let i = 0; i < 32; i++) await store.put(trades, streamFromTable(table));
  await store.close();
  const source = { kind: 'parquet', path: join(log, checkpoint(31)), isOwn: true } as const;
  const [info] = await files.describe([source]);
  if (info === undefined || info instanceof Error) throw info;
  const [, [, metaData] = []] = await readRows(files.read(source, info));
  const { schemaString } = JSON.parse(JSON.stringify(metaData, (_, v: unknown) => (typeof v === 'bigint' ? 0 : v)));
  expect(JSON.parse(schemaString).fields.map(({ name }: { name: string }) => name)).toEqual(names);
});

/** Files that write frames, but no checkpoint while `isBroken`. */
function breakingFiles(state: { isBroken: boolean }): FrameFiles {
  const files = createArrowFrameFiles();
  return {
    ...files,
    async write(path, source, options) {
      const isCheckpoint = source.schema.fields.some(({ name }) => name === 'protocol');
      if (isCheckpoint && state.isBroken) throw new Error('broken');
      return files.write(path, source, options);
    },
  };
}

describe('without a checkpoint', () => {
  test('all entries stay, the problem is reported once, and the next trim tries again', async () => {
    const state = { isBroken: true };
    const problems: StoreProblem[] = [];
    const store = await fixture.open({ files: breakingFiles(state), onProblem: (problem) => problems.push(problem) });
    const changeSome = async (times: number): Promise<void> => {
      for (let i = 0; i < times; i++) await store.put(trades, longFrame(1));
    };
    await changeSome(100);
    const problem = { kind: 'no_checkpoint', tenant: 'default', handle: 'trades', cause: new Error('broken') };
    expect(problems).toEqual([problem]);
    expect(await filesInLog()).toEqual(logOf(0, 99, []));
    state.isBroken = false;
    await changeSome(60);
    await expect.poll(filesInLog).toEqual(logOf(127, 159, [127, 159]));
    state.isBroken = true;
    await changeSome(32);
    await store.close();
    expect(problems).toEqual([problem, problem]);
    expect(await filesInLog()).toEqual(logOf(127, 191, [127, 159]));
    expect(await fixture.names()).toHaveLength(1);
  });

  test('of which other programs would know, all entries stay', async () => {
    await change(1);
    await mkdir(join(log, '_last_checkpoint'));
    const problems: StoreProblem[] = [];
    await change(70, { onProblem: (problem) => problems.push(problem) });
    expect(problems).toMatchObject([{ kind: 'no_checkpoint', cause: { code: 'EISDIR' } }]);
    expect(await filesInLog()).toEqual(logOf(0, 70, [31, 63]));
  });
});

test('a log without a start gets a checkpoint when it is read', async () => {
  await change(5);
  await rm(join(log, entry(0)));
  const store = await fixture.open();
  expect(await rowsOf(store, trades)).toHaveLength(1);
  await store.close();
  expect(await filesInLog()).toEqual(logOf(1, 4, [4]));
  expect(await lastCheckpoint()).toMatchObject({ version: 4 });
  await change(59);
  expect(await filesInLog()).toEqual(logOf(31, 63, [31, 63]));
});

test.each([1, 32, 40, 100])('a frame that was dropped after %i changes leaves nothing', async (changes) => {
  await change(changes);
  const store = await fixture.open();
  await store.drop(trades);
  await store.close();
  expect(await fixture.names()).toEqual([]);
});

test('two processes write the same checkpoint, and both trim the log', async () => {
  await change(63);
  // Not by the store, which would trim the log itself.
  const store = await fixture.open({ files: breakingFiles({ isBroken: true }) });
  await store.put(trades, longFrame(1));
  await store.close();
  const trim = (): Promise<void> => {
    const slot = slotOf(createTenantSlots(fixture.directory, 'default'), 'trades');
    const onProblem = ({ cause }: StoreProblem): void => expect.unreachable(String(cause));
    return trimLog(slot, { files: createArrowFrameFiles(), onProblem, inTurn: (work) => work() });
  };
  await Promise.all([trim(), trim(), trim()]);
  expect(await filesInLog()).toEqual(logOf(31, 63, [31, 63]));
  expect(await fixture.names()).toHaveLength(1);
  expect(await rowsOf(await fixture.open(), trades)).toHaveLength(1);
});

test('a frame that is dropped and put again while its checkpoint is written gets none of the old rows', async () => {
  const store = await fixture.open();
  for (let i = 0; i < 5; i++) await store.put(trades, longFrame(1));
  const files = createArrowFrameFiles();
  const write: FrameFiles['write'] = async (...args) => {
    await store.drop(trades);
    await store.put(trades, longFrame(2));
    return files.write(...args);
  };
  const slot = slotOf(createTenantSlots(fixture.directory, 'default'), 'trades');
  const onProblem = ({ cause }: StoreProblem): void => expect.unreachable(String(cause));
  await trimLog(slot, { files: { write }, onProblem, inTurn: (work) => work() });
  expect(await filesInLog()).toEqual(logOf(0, 0, []));
  expect(await fixture.names()).toHaveLength(1);
});
