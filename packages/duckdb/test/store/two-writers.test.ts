// A process that was stopped until another one took over its directory must not undo what that has acknowledged.
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { longFrame } from '@svc/frames/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTenantSlots, logOf, slotOf } from '../../src/store/catalogue/frame-slots.ts';
import type { DurableStore } from '../../src/store/durable-store.ts';
import { createStoreFixture, refOf, rowsOf, type StoreFixture } from '../../src/testing/store-fixture.ts';

let fixture: StoreFixture;
let problems: unknown[];
let first: DurableStore;

beforeEach(async () => {
  fixture = await createStoreFixture();
  problems = [];
  first = await fixture.open({ onProblem: (problem) => problems.push(problem) });
});

afterEach(() => fixture.remove());

/** Opens the directory as a process does that finds the lock of the first one stale. */
async function takeOver(): Promise<DurableStore> {
  for (const name of await readdir(fixture.directory)) {
    if (name.startsWith('.lock')) await rm(join(fixture.directory, name));
  }
  return fixture.open();
}

test('the end of its last reader does not remove the log of a frame that was put since', async () => {
  await first.put(refOf('a'), longFrame(1));
  const reader = await first.open(refOf('a'));
  await first.drop(refOf('a'));
  const second = await takeOver();
  await second.put(refOf('a'), longFrame(2));
  reader?.close();
  await first.close();
  expect(problems).toMatchObject([{ kind: 'not_removed', cause: expect.objectContaining({ name: 'TakenOverError' }) }]);
  await second.close();
  expect(await rowsOf(await fixture.open(), refOf('a'))).toHaveLength(2);
});

test('the end of a reader after the store is closed removes nothing', async () => {
  await first.put(refOf('a'), longFrame(1));
  const reader = await first.open(refOf('a'));
  await first.put(refOf('a'), longFrame(2));
  await first.close();
  const names = await fixture.names();
  reader?.close();
  expect(await rowsOf(await fixture.open({ isReadOnly: true }), refOf('a'))).toHaveLength(2);
  expect(await fixture.names()).toEqual(names);
});

test('its refused change removes no part of a version that it does not know, and it knows that version afterwards', async () => {
  await first.put(refOf('a'), longFrame(1));
  const second = await takeOver();
  await second.put(refOf('a'), longFrame(2));
  await second.put(refOf('b'), longFrame(3));
  const tenant = createTenantSlots(fixture.directory, 'default');
  const { state } = (await logOf(slotOf(tenant, 'a')).newest())!;
  await second.close();
  // The first one holds the directory again: it has passed the check of its lock.
  const third = await fixture.open();
  await rowsOf(third, refOf('a'));
  await logOf(slotOf(tenant, 'a')).change(async () => ({ ...state, version: '7ZZZZZZZZZZZZZZZZZZZZZZZZZ' }));
  const parts = await fixture.parts('a');
  await expect(third.put(refOf('a'), longFrame(4))).rejects.toMatchObject({
    code: 'unavailable',
    message: 'Another program has changed the frame "a".',
  });
  expect(await fixture.parts('a')).toEqual(expect.arrayContaining(parts));
  expect(await rowsOf(third, refOf('a'))).toHaveLength(2);
  await third.close();
  expect(await fixture.parts('a')).toEqual(parts);
});
