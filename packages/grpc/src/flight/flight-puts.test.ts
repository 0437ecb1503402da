import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { deferred } from '../../test/start-server.ts';
import { type Acknowledge, withAcknowledgements } from './flight-puts.ts';

const textOf = (bytes: Uint8Array | void): string => Buffer.from(bytes ?? []).toString();
const LONG_MS = 60_000;

test('what is acknowledged comes in order, and the result last', async () => {
  const run = async (acknowledge: Acknowledge): Promise<Uint8Array> => {
    for (const text of ['a', '', 'b']) await acknowledge(Buffer.from(text));
    return Buffer.from('end');
  };
  const texts: string[] = [];
  for await (const bytes of withAcknowledgements(run, LONG_MS)) texts.push(textOf(bytes));
  expect(texts).toEqual(['a', '', 'b', 'end']);
});

test.each([
  ['number', 1, 10_000],
  ['length', 300_000, 3],
])('the %s of what waits is limited, and reading makes room', async (_, length, most) => {
  let sent = 0;
  const run = async (acknowledge: Acknowledge): Promise<Uint8Array> => {
    for (; sent < 2 * most; sent++) await acknowledge(new Uint8Array(length));
    return Buffer.from('end');
  };
  const results = withAcknowledgements(run, LONG_MS);
  await results.next();
  await nextTurn();
  expect(sent).toBeLessThanOrEqual(most + 1);
  let received = 1;
  for await (const bytes of results) if (textOf(bytes) !== 'end') received++;
  expect(received).toBe(2 * most);
});

test('a failed upload throws its error, whatever waits', async () => {
  const failed = deferred();
  const run = async (acknowledge: Acknowledge): Promise<Uint8Array> => {
    await acknowledge(Buffer.from('a'));
    await acknowledge(Buffer.from('b'));
    await failed.promise;
    throw new Error('broken');
  };
  const results = withAcknowledgements(run, LONG_MS);
  expect(textOf((await results.next()).value)).toBe('a');
  failed.resolve();
  await nextTurn();
  await expect(results.next()).rejects.toThrow('broken');
});

test('a client that reads nothing fails the upload', async () => {
  const ended = deferred();
  const run = async (acknowledge: Acknowledge): Promise<Uint8Array> => {
    try {
      for (let i = 0; i < 4; i++) await acknowledge(new Uint8Array(500_000));
      return Buffer.from('end');
    } finally {
      ended.resolve();
    }
  };
  const results = withAcknowledgements(run, 1);
  await results.next();
  await ended.promise;
  await nextTurn();
  await expect(results.next()).rejects.toMatchObject({
    code: 'deadline_exceeded',
    message: expect.stringContaining('did not read the acknowledgements'),
  });
});

test('an upload that the client abandons does not wait for it', async () => {
  const ended = deferred();
  const run = async (acknowledge: Acknowledge): Promise<Uint8Array> => {
    for (let i = 0; i < 4; i++) await acknowledge(new Uint8Array(500_000));
    ended.resolve();
    return new Uint8Array(0);
  };
  const results = withAcknowledgements(run, LONG_MS);
  await results.next();
  await results.return();
  await ended.promise;
});
