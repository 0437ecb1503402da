import { ServiceError } from '@svc/errors';
import { type Call, createMemoryStore, type Engine } from '@svc/frames';
import { createService } from '@svc/service';
import { expect, test } from 'vitest';
import { createFakeEngine } from '../../test/fake-engine.ts';
import { createPendingQueries, createTickets } from './tickets.ts';

const ownCall = (tenant = 'a'): Call => ({ tenant, requestId: 'r', signal: new AbortController().signal });
const REFUSED = 'The ticket was not issued to you by this server, or has expired.';

test('a ticket opens to its content, and does not reveal it', () => {
  const tickets = createTickets();
  const { ticket } = tickets.issue(ownCall(), Buffer.from('SELECT secret'));
  expect(Buffer.from(ticket).includes('secret')).toBe(false);
  expect(Buffer.from(tickets.open(ownCall(), ticket)).toString()).toBe('SELECT secret');
});

test('a ticket is invalid for another tenant, on another server, or after it expires', () => {
  let now = 1000;
  const tickets = createTickets({ lifeMs: 500, now: () => now });
  const { ticket, expires } = tickets.issue(ownCall(), Buffer.from('x'));
  expect(expires).toEqual(new Date(1500));
  expect(() => tickets.open(ownCall('b'), ticket)).toThrow(REFUSED);
  expect(() => createTickets().open(ownCall(), ticket)).toThrow(REFUSED);
  now = 1500;
  expect(Buffer.from(tickets.open(ownCall(), ticket)).toString()).toBe('x');
  now = 1501;
  expect(() => tickets.open(ownCall(), ticket)).toThrow(REFUSED);
});

test('a ticket with any byte changed, cut or added is refused', () => {
  const tickets = createTickets();
  const { ticket } = tickets.issue(ownCall(), Buffer.from('content'));
  for (let i = 0; i < ticket.length; i++) {
    const changed = Buffer.from(ticket);
    changed[i] = (changed[i] ?? 0) ^ 0x10;
    expect(() => tickets.open(ownCall(), changed)).toThrow(REFUSED);
    expect(() => tickets.open(ownCall(), ticket.subarray(0, i))).toThrow(REFUSED);
  }
  expect(() => tickets.open(ownCall(), Buffer.concat([ticket, Buffer.from('x')]))).toThrow(REFUSED);
});

const TICKET = Buffer.from('ticket');
const ONE = { sql: 'SELECT 1 AS one', params: [], engine: 'local' } as const;
const SLOW = { sql: 'SELECT slowly', params: [], engine: 'local' } as const;

function callOf(tenant = 'default', signal: AbortSignal = new AbortController().signal): Call {
  return { tenant, requestId: 'test', signal };
}

function start(options: { readonly keepMs?: number; readonly maxKept?: number } = {}) {
  const engine = createFakeEngine();
  const service = createService({ store: createMemoryStore(), engines: { local: engine } });
  return { engine, pending: createPendingQueries({ service, describeAfterMs: 5, ...options }) };
}

test('a query can be taken once with its ticket', async () => {
  const { pending, engine } = start();
  const { query, schema } = await pending.begin(callOf(), ONE);
  pending.keep(callOf(), TICKET, query);
  expect(schema.names).toEqual(['one']);
  expect(pending.take(callOf('other'), TICKET)).toBeUndefined();
  expect(pending.take(callOf(), Buffer.from('forged'))).toBeUndefined();
  const answer = await pending.take(callOf(), TICKET);
  expect([answer?.schema.names, engine.asked.length, engine.openResults()]).toEqual([['one'], 1, 1]);
  expect(pending.take(callOf(), TICKET)).toBeUndefined();
});

test('one that is not fetched is cancelled after a while', async () => {
  const { pending, engine } = start({ keepMs: 10 });
  const { query } = await pending.begin(callOf(), ONE);
  pending.keep(callOf(), TICKET, query);
  expect(engine.openResults()).toBe(1);
  await expect.poll(() => engine.openResults()).toBe(0);
  expect(engine.asked[0]?.call.signal.aborted).toBe(true);
  expect(pending.take(callOf(), TICKET)).toBeUndefined();
});

test('of too many, the oldest is cancelled', async () => {
  const { pending, engine } = start({ maxKept: 2 });
  for (const name of ['a', 'b', 'c']) {
    const { query } = await pending.begin(callOf(), ONE);
    pending.keep(callOf(), Buffer.from(name), query);
  }
  expect(engine.asked.map(({ call }) => call.signal.aborted)).toEqual([true, false, false]);
  expect(pending.take(callOf(), Buffer.from('a'))).toBeUndefined();
  expect(pending.take(callOf(), Buffer.from('c'))).toBeDefined();
});

test('one whose first rows take long is described in parallel, and runs on', async () => {
  const { pending, engine } = start();
  const { query, schema } = await pending.begin(callOf(), SLOW);
  expect([schema.names, engine.asked.length, engine.asked[0]?.call.signal.aborted]).toEqual([['never'], 1, false]);
  pending.keep(callOf(), TICKET, query);
  const reader = new AbortController();
  const answer = pending.take(callOf('default', reader.signal), TICKET);
  reader.abort(new ServiceError('cancelled', 'The reader went away.'));
  await expect(answer).rejects.toThrow('The reader went away.');
});

test('one that cannot be described gets its schema from its result', async () => {
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
  const { query, schema } = await createPendingQueries({ service, describeAfterMs: 5 }).begin(callOf(), ONE);
  query.end(undefined);
  expect(schema.names).toEqual(['one']);
});

test('one that fails returns the error at once, and leaves nothing behind', async () => {
  const { pending, engine } = start();
  await expect(pending.begin(callOf(), { sql: 'SELEC', params: [], engine: 'local' })).rejects.toMatchObject({
    code: 'invalid_sql',
  });
  expect(engine.openResults()).toBe(0);
});

test('one is cancelled with its call while it starts, and not after that', async () => {
  const { pending, engine } = start();
  const early = new AbortController();
  const beginning = pending.begin(callOf('default', early.signal), SLOW);
  early.abort(new ServiceError('cancelled', 'The client went away.'));
  await expect(beginning).rejects.toThrow('The client went away.');
  const late = new AbortController();
  await pending.begin(callOf('default', late.signal), SLOW);
  late.abort();
  expect(engine.asked.map(({ call }) => call.signal.aborted)).toEqual([true, false]);
});

test('one is cancelled by its ticket, only by its tenant', async () => {
  const { pending, engine } = start();
  const { query } = await pending.begin(callOf(), ONE);
  pending.keep(callOf(), TICKET, query);
  expect(pending.cancel(callOf('other'), TICKET)).toBe(false);
  expect(pending.cancel(callOf(), TICKET)).toBe(true);
  expect(pending.cancel(callOf(), TICKET)).toBe(false);
  await expect.poll(() => engine.openResults()).toBe(0);
});
