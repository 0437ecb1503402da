import type { Authenticator, Permission } from '@svc/auth';
import { type Call, createMemoryStore, parseHandle, type Store } from '@svc/frames';
import { withResolvers } from '@svc/frames/async';
import { bodyOf } from '@svc/frames/testing';
import { describe, expect, test } from 'vitest';
import { createService, type Service, type ServiceEvent, type ServiceOptions } from './index.ts';
import { createLineMemory } from './lines-operation.ts';

const callOf = (signal = new AbortController().signal): Call => ({ tenant: 'default', requestId: 'r', signal });

interface Setup {
  readonly service: Service;
  readonly store: Store;
  readonly events: ServiceEvent[];
  readonly write: (lines: string, signal?: AbortSignal) => Promise<number>;
}

function setup(options: Partial<ServiceOptions> = {}): Setup {
  const events: ServiceEvent[] = [];
  const store = options.store ?? createMemoryStore();
  const service = createService({ ...options, store, observe: (event) => events.push(event) });
  const write = (lines: string, signal?: AbortSignal): Promise<number> =>
    service.writeLines(callOf(signal), { body: bodyOf(Buffer.from(lines)) });
  return { service, store, events, write };
}

const rowsOf = async (store: Store): Promise<Record<string, number | null>> =>
  Object.fromEntries((await store.list('default')).map(({ handle, rows }) => [handle, rows]));

const audits = (events: readonly ServiceEvent[]): readonly unknown[] =>
  events.flatMap((event) => (event.kind === 'audited' ? [[event.operation, event.handle, event.outcome]] : []));

test('lines are appended to the frames of their tables, which are created', async () => {
  const { store, write, events } = setup();
  expect(await write('a x=1\nb,s=k y=2i\na x=3\n')).toBe(3);
  expect(await write('b y=5i\n')).toBe(1);
  expect(await rowsOf(store)).toEqual({ a: 2, b: 2 });
  expect((await store.describe({ tenant: 'default', handle: parseHandle('b') }))?.columns).toEqual([
    { name: 's', type: 'SYMBOL', nullable: true },
    { name: 'y', type: 'LONG', nullable: true },
    { name: 'timestamp', type: 'TIMESTAMP_NS', nullable: true },
  ]);
  expect(audits(events)).toEqual([
    ['writeLines', 'a', 'ok'],
    ['writeLines', 'b', 'ok'],
    ['writeLines', 'b', 'ok'],
  ]);
  expect(events.filter(({ kind }) => kind === 'frame_appended')).toMatchObject([
    { handle: 'a', rows: 2, rowsWritten: 2, created: true },
    { handle: 'b', rows: 1, rowsWritten: 1, created: true },
    { handle: 'b', rows: 2, rowsWritten: 1, created: false },
  ]);
});

describe('nothing of a request is stored if', () => {
  test.each([
    ['a line of another table cannot be read', 'a x=1\nb y', 'Line 2: the field "y" has no value.', { kept: 1 }],
    [
      'a line has a column that its frame lacks',
      'a x=1\nkept z=1',
      'Line 2: the frame "kept" has no column "z".',
      { kept: 1 },
    ],
    [
      'a value does not fit its frame',
      'a x=1\nkept n=1i\nkept n=1.5',
      /^Line 3: the value 1.5 of column "n"/,
      { kept: 1 },
    ],
  ])('%s', async (_, lines, message, rows) => {
    const { store, write, events } = setup();
    await write('kept n=1i');
    await expect(write(lines)).rejects.toThrow(message);
    expect(await rowsOf(store)).toEqual(rows);
    expect(audits(events).slice(1)).toEqual([['writeLines', null, 'invalid_data']]);
  });

  test('the client goes away before all lines have arrived', async () => {
    const { store, service } = setup();
    const client = new AbortController();
    async function* body() {
      yield Buffer.from('a x=1\n');
      client.abort();
    }
    await expect(service.writeLines(callOf(client.signal), { body: body() })).rejects.toThrow('aborted');
    expect(await rowsOf(store)).toEqual({});
  });
});

test('a failure after some tables are stored names them, and is not one that clients retry', async () => {
  const authenticator = { limitsOf: () => ({ maxFrames: 1 }), close: () => undefined } as unknown as Authenticator;
  const caller = { id: 'c', tenant: 'default', permissions: new Set<Permission>(['write']) };
  const { service, store, events } = setup({ authenticator });
  const lines = { body: bodyOf(Buffer.from('a x=1\nb x=1\n')) };
  await expect(service.writeLines({ ...callOf(), caller }, lines)).rejects.toMatchObject({
    code: 'partial_write',
    message: expect.stringMatching(/^Only the lines of "[ab]" are stored, and no others: /),
  });
  expect(Object.values(await rowsOf(store))).toEqual([1]);
  expect(audits(events)).toHaveLength(2);
  expect(audits(events)).toContainEqual(['writeLines', expect.any(String), 'ok']);
  expect(audits(events)).toContainEqual(['writeLines', expect.any(String), 'quota_exceeded']);
});

/** A line of a table with this many columns. */
const wide = (handle: string, columns: number): string =>
  `${handle} ${Array.from({ length: columns }, (_, i) => `c${i}=1`).join(',')}\n`;

describe('wide tables', () => {
  /** A store that tells how many appends run at the same time, and calls `onAppended` after each. */
  function countingStore(onAppended: () => void = () => undefined) {
    const memory = createMemoryStore();
    const running = { now: 0, most: 0 };
    const append: Store['append'] = async (...args) => {
      running.most = Math.max(running.most, ++running.now);
      await new Promise(setImmediate);
      const result = await memory.append(...args);
      running.now--;
      onAppended();
      return result;
    };
    return { running, store: { ...memory, append } };
  }

  test('are appended one at a time, narrow ones several at a time', async () => {
    const { store, running } = countingStore();
    const { write } = setup({ store });
    await write(['a', 'b', 'c'].map((handle) => wide(handle, 1000)).join(''));
    expect(running.most).toBe(1);
    await write(Array.from({ length: 20 }, (_, i) => wide(`n${i}`, 10)).join(''));
    expect(running.most).toBe(8);
  });

  test('that are not appended yet when the client leaves are not appended', async () => {
    const client = new AbortController();
    const { store } = countingStore(() => client.abort());
    const { write } = setup({ store });
    await expect(write(wide('a', 1000) + wide('b', 1000), client.signal)).rejects.toMatchObject({
      code: 'partial_write',
      message: expect.stringMatching(/^Only the lines of "a" are stored, and no others: /),
    });
    expect(await rowsOf(store)).toEqual({ a: 1 });
  });
});

describe('limits', () => {
  test('of the length, known or not', async () => {
    const { service } = setup({ maxLinesBytes: 10 });
    const body = () => bodyOf(Buffer.from('a x=1234567\n'));
    const tooLong = { code: 'payload_too_large', message: 'The lines are longer than 10 bytes.' };
    await expect(service.writeLines(callOf(), { body: body() })).rejects.toMatchObject(tooLong);
    await expect(service.writeLines(callOf(), { body: body(), bytes: 12 })).rejects.toMatchObject(tooLong);
  });

  test('of the memory of a request, with that of its columns, which it returns at its end', async () => {
    const { write, service, store } = setup({ maxLinesBytes: 1_000_000 });
    const tooLarge = {
      code: 'payload_too_large',
      message: 'The lines need more than the 12582912 bytes of memory that one request may use.',
      hint: expect.stringMatching(/^Send fewer tables, columns or lines at a time/),
    };
    await expect(write(wide('a', 1500) + wide('b', 1500))).rejects.toMatchObject(tooLarge);
    expect(await rowsOf(store)).toEqual({});
    expect(await write(wide('a', 1500))).toBe(1);
    expect(await write(wide('b', 1500))).toBe(1);
    // The columns that the lines lack are written, too.
    await expect(write('a c0=2\nb c0=2\nc c0=2\n' + wide('d', 200))).rejects.toMatchObject(tooLarge);
    expect(await write('a c0=2')).toBe(1);
    await service.close();
  });

  test('of the memory of a tenant, which leaves some to others', async () => {
    const { service } = setup({ maxLinesBytes: 1_000_000 });
    const [held, end] = [withResolvers<undefined>(), withResolvers<undefined>()];
    async function* holding() {
      // Long enough that the lines are read before their end.
      yield Buffer.from(`${wide('a', 1500)}# ${'-'.repeat(100_000)}\n`);
      held.resolve(undefined);
      await end.promise;
    }
    const first = service.writeLines(callOf(), { body: holding() });
    await held.promise;
    const second = () => ({ body: bodyOf(Buffer.from(wide('b', 1300))) });
    await expect(service.writeLines(callOf(), second())).rejects.toMatchObject({
      code: 'out_of_memory',
      message:
        'The requests with lines of the tenant "default" need more than the 12582912 bytes that they may use together.',
    });
    expect(await service.writeLines({ ...callOf(), tenant: 'other' }, second())).toBe(1);
    end.resolve(undefined);
    expect(await first).toBe(1);
  });
});

const MIB = 1024 ** 2;

test('the requests of a tenant share three quarters, also if one opened and closed between two others', () => {
  const memory = createLineMemory(100 * MIB);
  const first = memory.open('alpha');
  memory.open('alpha').close();
  const second = memory.open('alpha');
  first.take(200 * MIB);
  expect(() => second.take(200 * MIB)).toThrow('of the tenant "alpha" need more than');
  memory.open('beta').take(90 * MIB);
});

test('what a closed request had is free again', () => {
  const memory = createLineMemory(100 * MIB);
  for (let i = 0; i < 3; i += 1) {
    const request = memory.open('alpha');
    request.take(300 * MIB);
    request.close();
  }
});
