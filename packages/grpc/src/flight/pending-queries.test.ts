import { ServiceError } from '@svc/errors';
import { type Call, createMemoryStore, type Engine } from '@svc/frames';
import { createService } from '@svc/service';
import { expect, test } from 'vitest';
import { createFakeEngine } from '../../test/fake-engine.ts';
import { createBegunQueries } from './pending-queries.ts';

const TICKET = Buffer.from('ticket');
const ONE = { sql: 'SELECT 1 AS one', params: [] };
const SLOW = { sql: 'SELECT slowly', params: [] };

function callOf(tenant = 'default', signal: AbortSignal = new AbortController().signal): Call {
  return { tenant, requestId: 'test', signal };
}

function start(options: { readonly keepMs?: number; readonly maxKept?: number } = {}) {
  const engine = createFakeEngine();
  const service = createService({ store: createMemoryStore(), engines: { local: engine } });
  return { engine, begun: createBegunQueries({ service, describeAfterMs: 5, ...options }) };
}

test('a query is there once for who comes with its ticket', async () => {
  const { begun, engine } = start();
  const { query, schema } = await begun.begin(callOf(), ONE);
  begun.keep(callOf(), TICKET, query);
  expect(schema.names).toEqual(['one']);
  expect(begun.take(callOf('other'), TICKET)).toBeUndefined();
  expect(begun.take(callOf(), Buffer.from('forged'))).toBeUndefined();
  const answer = await begun.take(callOf(), TICKET);
  expect([answer?.schema.names, engine.asked.length, engine.openAnswers()]).toEqual([['one'], 1, 1]);
  expect(begun.take(callOf(), TICKET)).toBeUndefined();
});

test('one that nobody reads is ended after a while', async () => {
  const { begun, engine } = start({ keepMs: 10 });
  const { query } = await begun.begin(callOf(), ONE);
  begun.keep(callOf(), TICKET, query);
  expect(engine.openAnswers()).toBe(1);
  await expect.poll(() => engine.openAnswers()).toBe(0);
  expect(engine.asked[0]?.call.signal.aborted).toBe(true);
  expect(begun.take(callOf(), TICKET)).toBeUndefined();
});

test('of too many the oldest is ended', async () => {
  const { begun, engine } = start({ maxKept: 2 });
  for (const name of ['a', 'b', 'c']) {
    const { query } = await begun.begin(callOf(), ONE);
    begun.keep(callOf(), Buffer.from(name), query);
  }
  expect(engine.asked.map(({ call }) => call.signal.aborted)).toEqual([true, false, false]);
  expect(begun.take(callOf(), Buffer.from('a'))).toBeUndefined();
  expect(begun.take(callOf(), Buffer.from('c'))).toBeDefined();
});

test('one whose first rows take long is described meanwhile, and runs on', async () => {
  const { begun, engine } = start();
  const { query, schema } = await begun.begin(callOf(), SLOW);
  expect([schema.names, engine.asked.length, engine.asked[0]?.call.signal.aborted]).toEqual([['never'], 1, false]);
  begun.keep(callOf(), TICKET, query);
  const reader = new AbortController();
  const answer = begun.take(callOf('default', reader.signal), TICKET);
  reader.abort(new ServiceError('cancelled', 'The reader went away.'));
  await expect(answer).rejects.toThrow('The reader went away.');
});

test('one that nobody has the time to describe says itself what it answers', async () => {
  const fake = createFakeEngine();
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const local: Engine = {
    ...fake,
    async query(...args) {
      await released;
      return fake.query(...args);
    },
    async describe() {
      release();
      throw new ServiceError('too_many_requests', 'Every engine is busy.');
    },
  };
  const service = createService({ store: createMemoryStore(), engines: { local } });
  const { query, schema } = await createBegunQueries({ service, describeAfterMs: 5 }).begin(callOf(), ONE);
  query.end(undefined);
  expect(schema.names).toEqual(['one']);
});

test('one that fails says so at once, and leaves nothing', async () => {
  const { begun, engine } = start();
  await expect(begun.begin(callOf(), { sql: 'SELEC', params: [] })).rejects.toMatchObject({ code: 'invalid_sql' });
  expect(engine.openAnswers()).toBe(0);
});

test('one that is begun ends with its call, and runs on after it', async () => {
  const { begun, engine } = start();
  const early = new AbortController();
  const beginning = begun.begin(callOf('default', early.signal), SLOW);
  early.abort(new ServiceError('cancelled', 'The client went away.'));
  await expect(beginning).rejects.toThrow('The client went away.');
  const late = new AbortController();
  await begun.begin(callOf('default', late.signal), SLOW);
  late.abort();
  expect(engine.asked.map(({ call }) => call.signal.aborted)).toEqual([true, false]);
});

test('one is cancelled by its ticket, by whom it is', async () => {
  const { begun, engine } = start();
  const { query } = await begun.begin(callOf(), ONE);
  begun.keep(callOf(), TICKET, query);
  expect(begun.cancel(callOf('other'), TICKET)).toBe(false);
  expect(begun.cancel(callOf(), TICKET)).toBe(true);
  expect(begun.cancel(callOf(), TICKET)).toBe(false);
  await expect.poll(() => engine.openAnswers()).toBe(0);
});
