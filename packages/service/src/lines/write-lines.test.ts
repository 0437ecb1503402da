import type { Authenticator, Permission } from '@svc/auth';
import { type Call, createMemoryStore, parseHandle, type Store } from '@svc/frames';
import { bodyOf } from '@svc/frames/testing';
import { describe, expect, test } from 'vitest';
import { createService, type Service, type ServiceEvent, type ServiceOptions } from '../index.ts';

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

const rowsOf = async (store: Store): Promise<Record<string, number>> =>
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

describe('limits', () => {
  test('of the length, known or not', async () => {
    const { service } = setup({ maxLinesBytes: 10 });
    const body = () => bodyOf(Buffer.from('a x=1234567\n'));
    const tooLong = { code: 'payload_too_large', message: 'The lines are longer than 10 bytes.' };
    await expect(service.writeLines(callOf(), { body: body() })).rejects.toMatchObject(tooLong);
    await expect(service.writeLines(callOf(), { body: body(), bytes: 12 })).rejects.toMatchObject(tooLong);
  });

  test('of the memory of all requests, which each returns at its end', async () => {
    const { write, service } = setup({ maxLinesBytes: 1000 });
    const wide = Array.from({ length: 40 }, (_, i) => `a c${i}=1`).join('\n');
    await expect(write(wide)).rejects.toMatchObject({ code: 'out_of_memory' });
    for (let i = 0; i < 5; i++) expect(await write('b x=1')).toBe(1);
    await service.close();
  });
});
