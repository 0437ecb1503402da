import { listRunning } from '@svc/client/internal';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SLOW } from '../../../test/tier.ts';
import { createAsking } from '../src/chart/AskBar.tsx';
import { type Engine, startEngine } from './engine.ts';

/** Takes minutes, and reports its progress. */
const LONG_SQL = 'select max(hash(a.i * b.i)) from range(1000000) a(i), range(1000000) b(i)';

const ends: (() => Promise<void>)[] = [];
let engine: Engine;

beforeAll(async () => {
  engine = await startEngine((end) => ends.push(end));
});
afterAll(() => Promise.all(ends.map((end) => end())));

async function runningQueries(): Promise<number> {
  return (await listRunning(engine.api)).length;
}

test('what runs is seen while it runs, and cancelling ends it at the server', SLOW, async () => {
  const asking = createAsking(engine.api);
  const result = asking.run('local', (ask) => ask(LONG_SQL));
  await expect.poll(() => asking.state.value.running?.state).toBe('running');
  expect(asking.state.value.isRunning).toBe(true);
  asking.cancel();
  expect(asking.state.value).toMatchObject({ isRunning: false, isCancelled: true, failure: undefined });
  expect(await result).toBeUndefined();
  await expect.poll(runningQueries).toBe(0);
});

test('later statements replace earlier ones', async () => {
  const asking = createAsking(engine.api);
  const first = asking.run('local', (ask) => ask(LONG_SQL));
  const second = asking.run('local', (ask) => ask('select 42 as n'));
  expect(await second).toMatchObject({ rows: [[42]] });
  expect(await first).toBeUndefined();
  expect(asking.state.value).toMatchObject({ isRunning: false, isCancelled: false });
  await expect.poll(runningQueries).toBe(0);
});

test('a statement that fails shows the sentence and the hint of the server', async () => {
  const asking = createAsking(engine.api);
  expect(await asking.run('local', (ask) => ask('select * from "no such frame"'))).toBeUndefined();
  expect(asking.state.value.failure).toMatchObject({
    name: 'ClientError',
    hint: expect.any(String),
    requestId: expect.any(String),
  });
  expect(asking.state.value.isRunning).toBe(false);
});
