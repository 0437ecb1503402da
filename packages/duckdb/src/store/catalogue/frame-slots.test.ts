import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseHandle } from '@svc/frames';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { FrameState } from '../log/frame-entry.ts';
import {
  appendTo,
  createTenantSlots,
  endMove,
  entryFile,
  knownOf,
  logOf,
  placeParts,
  readSlot,
  removeLog,
  type Slot,
  slotOf,
} from './frame-slots.ts';

let directory: string;
let source: Slot;
let target: Slot;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'frame-slots-'));
  const tenant = createTenantSlots(directory, 'default');
  source = slotOf(tenant, 'source');
  target = slotOf(tenant, 'target');
});

afterEach(() => rm(directory, { recursive: true }));

const [V1, V2] = ['01M7EY6RV4XGCAW41JMB7D644V', '01M7EY6RV4XGCAW41JMB7D644W'];
const rows = { schema: '', parts: [] };
const stateOf = (handle: string, version: string, more: Partial<FrameState> = {}): FrameState => ({
  handle: parseHandle(handle),
  version,
  table: 'table',
  rows,
  columns: { type: 'struct', fields: [] },
  expires: null,
  ...more,
});
const put = (slot: Slot, state: FrameState) => logOf(slot).change(async () => state);
const move = (handle: string) => ({ handle: parseHandle(handle), id: 'move' });

test('the first read of a handle whose frame has arrived elsewhere completes the move', async () => {
  await put(source, stateOf('source', V1, { moving: move('target') }));
  await put(target, stateOf('target', V2, { from: move('source') }));
  expect((await readSlot(source, true))?.state.rows).toBeUndefined();
  expect((await logOf(source).newest())?.state.rows).toBeDefined();
  expect((await readSlot(source, false))?.state.rows).toBeUndefined();
  expect((await logOf(source).newest())?.state.rows).toBeUndefined();
});

test('the end of a move does not take the place of a frame that was put meanwhile', async () => {
  await put(source, stateOf('source', V1, { moving: move('target') }));
  await put(target, stateOf('target', V2, { from: move('source') }));
  await put(source, stateOf('source', V2));
  expect(await endMove(source, 'move')).toBeUndefined();
  expect((await logOf(source).newest())?.state).toMatchObject({ version: V2, rows });
});

test('a folder with the name of the next entry is an error at once', async () => {
  await put(source, stateOf('source', V1));
  source.known = knownOf(await readSlot(source, false));
  await mkdir(entryFile(source, 1));
  await expect(appendTo(source, () => stateOf('source', V2))).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('1.json" is not a file.'),
  });
});

test('a file with the name of the log is an error that names it', async () => {
  await mkdir(source.path, { recursive: true });
  await writeFile(join(source.path, '_delta_log'), '');
  await expect(placeParts(source, V1, [])).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('source is not a folder with a log.'),
  });
});

test('the log of a dropped frame goes up to its known entry: later ones are of another process', async () => {
  for (const version of [V1, V2]) await put(source, stateOf('source', version));
  source.known = knownOf(await readSlot(source, false));
  const later = await put(source, stateOf('source', V2));
  await removeLog(source);
  expect((await logOf(source).newest())?.id).toBe(later?.id);
});

test('a log without an entry is removed with its folder', async () => {
  await placeParts(source, V1, []);
  source.known = knownOf(await readSlot(source, false));
  await removeLog(source);
  expect(existsSync(source.path)).toBe(false);
});
