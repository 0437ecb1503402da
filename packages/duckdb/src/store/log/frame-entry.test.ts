import { Field, Float64, Int64, List, Schema, Struct, TimestampMicrosecond, Utf8 } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { parseHandle } from '@svc/frames';
import { createMemoryObjects, readObject } from '@svc/objects';
import { schemaText } from '../../types/stored-types.ts';
import { FRAME_CODEC, type FrameState, type StoredPart } from './frame-entry.ts';
import { createFrameLog, type LogEntry } from './frame-log.ts';

const VERSION = '01M7EY6RV4XGCAW41JMB7D644V';
const SCHEMA = schemaText(new Schema([new Field('id', new Int64(), true), new Field('name', new Utf8(), true)]));
const OTHER_SCHEMA = schemaText(new Schema([new Field('x', new Float64(), true)]));
const LOCAL = new List(new Field('item', new Struct([new Field('at', new TimestampMicrosecond(), true)]), true));
const LOCAL_SCHEMA = schemaText(new Schema([new Field('times', LOCAL, true)]));

const part = (file: string, rows = 10): StoredPart => ({ file, size: { rows, fileBytes: 100 * rows } });
const stateOf = (parts: readonly StoredPart[], more: Partial<FrameState> = {}): FrameState => ({
  handle: parseHandle('Trades'),
  version: VERSION,
  table: '5b1d1c2e-0000-4000-8000-000000000001',
  rows: { schema: SCHEMA, parts },
  expires: null,
  ...more,
});
/** A frame whose columns have a timestamp without a zone, deep inside. */
const withLocal = (parts: readonly StoredPart[]): FrameState => stateOf([], { rows: { schema: LOCAL_SCHEMA, parts } });
const entryOf = (state: FrameState): LogEntry<FrameState> => ({ id: 'me', recent: ['one', 'two'], state });

type Action = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

function actionsOf(state: FrameState, before?: FrameState): readonly Action[] {
  const lines = Buffer.from(FRAME_CODEC.encode(entryOf(state), before))
    .toString()
    .split('\n');
  expect(lines.pop()).toBe('');
  return lines.map((line) => JSON.parse(line));
}

/** The actions but the first: `add a`, `remove b`, `protocol`, with a star if the rows are the same. */
function changesOf(state: FrameState, before?: FrameState): readonly string[] {
  return actionsOf(state, before)
    .slice(1)
    .flatMap((action) => Object.entries(action))
    .map(([kind, { path = '', dataChange }]) => `${kind} ${String(path)}${dataChange === false ? '*' : ''}`.trim());
}

test.each([
  ['a frame', stateOf([part('a.parquet'), { file: 'b.parquet', size: { rows: 1, fileBytes: 2, arrowBytes: 3 } }])],
  ['a frame without rows', stateOf([part('a.parquet', 0)])],
  ['a frame that expires', stateOf([], { expires: new Date('2027-01-01T00:00:00.001Z') })],
  ['a dropped frame', stateOf([], { rows: undefined })],
  ['a merged frame', stateOf([part('a.parquet')], { isSame: true })],
  ['a frame that leaves', stateOf([part('a.parquet')], { moving: { handle: parseHandle('New'), id: 'move' } })],
  ['a frame that arrived', stateOf([part('a.parquet')], { from: { handle: parseHandle('Old'), id: 'move' } })],
])('%s is read as it was written', (_, state) => {
  expect(FRAME_CODEC.decode(FRAME_CODEC.encode(entryOf(state), undefined))).toEqual(entryOf(state));
});

describe('a commit', () => {
  const [a, b, c] = [part('a.parquet'), part('b.parquet'), part('c.parquet')];

  test.each<[string, FrameState, FrameState | undefined, readonly string[]]>([
    ['of a new frame', stateOf([a]), undefined, ['protocol', 'metaData', 'add a.parquet']],
    ['of an append', stateOf([a, b]), stateOf([a]), ['add b.parquet']],
    ['of other rows', stateOf([b]), stateOf([a]), ['remove a.parquet', 'add b.parquet']],
    [
      'of other columns',
      stateOf([], { rows: { schema: OTHER_SCHEMA, parts: [b] } }),
      stateOf([a]),
      ['metaData', 'remove a.parquet', 'add b.parquet'],
    ],
    [
      'of a merge',
      stateOf([c], { isSame: true }),
      stateOf([a, b]),
      ['remove a.parquet*', 'remove b.parquet*', 'add c.parquet*'],
    ],
    ['of another expiry', stateOf([a], { isSame: true }), stateOf([a]), []],
    ['of a drop', stateOf([], { rows: undefined }), stateOf([a, b]), ['remove a.parquet', 'remove b.parquet']],
    ['of a frame after its drop', stateOf([a]), stateOf([], { rows: undefined }), ['metaData', 'add a.parquet']],
    ['of a drop that is the first', stateOf([], { rows: undefined }), undefined, ['protocol', 'metaData']],
    ['of local times at first', withLocal([a]), undefined, ['protocol', 'metaData', 'add a.parquet']],
    [
      'of local times later',
      withLocal([b]),
      stateOf([a]),
      ['protocol', 'metaData', 'remove a.parquet', 'add b.parquet'],
    ],
    ['of local times as before', withLocal([a, b]), withLocal([a]), ['add b.parquet']],
    ['of local times no more', stateOf([b]), withLocal([a]), ['metaData', 'remove a.parquet', 'add b.parquet']],
    [
      'of local times after a drop',
      withLocal([a]),
      stateOf([], { rows: undefined }),
      ['protocol', 'metaData', 'add a.parquet'],
    ],
  ])('%s has the actions of Delta Lake', (_, state, before, changes) => {
    expect(changesOf(state, before)).toEqual(changes);
  });

  test.each([
    [
      'any reader, and no writer',
      stateOf([a]),
      { minReaderVersion: 1, minWriterVersion: 7, writerFeatures: ['svcFrames'] },
    ],
    [
      'readers that know timestamps without a zone, if there are any',
      withLocal([a]),
      {
        minReaderVersion: 3,
        minWriterVersion: 7,
        readerFeatures: ['timestampNtz'],
        writerFeatures: ['timestampNtz', 'svcFrames'],
      },
    ],
  ])('is for %s', (_, state, protocol) => {
    expect(actionsOf(state)[1]?.['protocol']).toEqual(protocol);
  });

  test('has no columns as long as the frame had none', () => {
    const metaData = actionsOf(stateOf([], { rows: undefined }))[2]?.['metaData'];
    expect(metaData).toMatchObject({ schemaString: '{"type":"struct","fields":[]}' });
  });

  test('has the number of rows and the size of a part', () => {
    const [, , , { add = {} } = {}] = actionsOf(stateOf([a]));
    expect(add).toMatchObject({ size: 1000, stats: '{"numRecords":10}', partitionValues: {} });
  });

  test('says what it did', () => {
    const operations = [
      actionsOf(stateOf([a])),
      actionsOf(stateOf([c], { isSame: true }), stateOf([a, b])),
      actionsOf(stateOf([a], { isSame: true }), stateOf([a])),
      actionsOf(stateOf([], { rows: undefined }), stateOf([a])),
    ].map(([first]) => first?.['commitInfo']?.['operation']);
    expect(operations).toEqual(['WRITE', 'OPTIMIZE', 'SET TBLPROPERTIES', 'DELETE']);
  });
});

describe('an entry', () => {
  const good = Buffer.from(FRAME_CODEC.encode(entryOf(stateOf([part('a.parquet')])), undefined)).toString();
  const own = (change: object): string => {
    const { commitInfo } = JSON.parse(good.split('\n', 1)[0] ?? '');
    return `${JSON.stringify({ commitInfo: { ...commitInfo, ...change } })}\n`;
  };

  test.each([
    ['without a byte', '', 'is not valid JSON'],
    ['that is cut in its first line', good.slice(0, 100), 'is not valid JSON'],
    ['with another digit', good.replace('"rows":10', '"rows":11'), 'does not match its checksum'],
    ['of a later version', good.replace('"format":1', '"format":2'), 'has a format that this version'],
  ])('%s is damaged', (_, text, reason) => {
    const { rows, damage } = FRAME_CODEC.decode(Buffer.from(text)).state;
    expect([rows, damage?.message]).toEqual([undefined, expect.stringContaining(reason)]);
  });

  test('that is damaged keeps its handle and version if they can be read', () => {
    const { state } = FRAME_CODEC.decode(Buffer.from(good.replace('"rows":10', '"rows":11')));
    expect(state).toMatchObject({ handle: 'Trades', version: VERSION });
  });

  test.each([
    ['of another program', own({ svc: undefined })],
    ['without a commit', '{"add":{}}\n'],
  ])('%s is refused: it is not ours to replace', (_, text) => {
    expect(() => FRAME_CODEC.decode(Buffer.from(text))).toThrow('was written by another program');
  });

  test.each(['../b.parquet', '/b.parquet', 'b/c.parquet', '..', ''])('that names the file %j is damaged', (file) => {
    const bytes = FRAME_CODEC.encode(entryOf(stateOf([part(file)])), undefined);
    expect(FRAME_CODEC.decode(bytes).state.damage?.message).toContain('not in the folder');
  });
});

test('the log gives the codec the state that an entry changes', async () => {
  const objects = createMemoryObjects();
  const log = createFrameLog({ objects, prefix: 'default/trades/_delta_log/', codec: FRAME_CODEC });
  await log.change(async () => stateOf([part('a.parquet')]));
  await log.change(async (now) => ({
    ...stateOf([]),
    rows: { schema: SCHEMA, parts: [...(now?.rows?.parts ?? []), part('b.parquet')] },
  }));
  const second = await readObject(objects, `default/trades/_delta_log/${'1'.padStart(20, '0')}.json`, 1e6);
  const lines = Buffer.from(second?.bytes ?? [])
    .toString()
    .trim()
    .split('\n')
    .slice(1);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('b.parquet');
});
