import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceError } from '@svc/errors';
import { createDirectoryObjects, createMemoryObjects, type Objects, OutcomeUnknown } from '@svc/objects';
import { createVirtualClock } from '@svc/objects/testing';
import { describe, expect, test } from 'vitest';
import { loadMutant, PLAIN_MUTANTS } from '../../testing/mutate-log.ts';
import { isLinearizable, JSON_CODEC, withCoarseTags, worldOf } from '../../testing/simulate-log.ts';
import { createFrameLog, type FrameLog, type FrameLogOptions } from './frame-log.ts';

const PREFIX = 'default/trades/_delta_log/';
const keyOf = (number: number): string => `${PREFIX}${String(number).padStart(20, '0')}.json`;

function openLog(objects: Objects, options: Partial<FrameLogOptions<string>> = {}): FrameLog<string> {
  return createFrameLog({ objects, prefix: PREFIX, codec: JSON_CODEC, minAgeMs: 0, ...options });
}

const append = (log: FrameLog<string>, part: string): ReturnType<FrameLog<string>['change']> =>
  log.change(async (now) => `${now ?? ''}${part}`);

test('a log without entries has no newest', async () => {
  expect(await openLog(createMemoryObjects()).newest()).toBeUndefined();
});

test('each change is the next number, and everyone reads it', async () => {
  const objects = createMemoryObjects();
  const [first, second] = [openLog(objects), openLog(objects)];
  expect(await append(first, 'a')).toMatchObject({ number: 0, state: 'a', recent: [] });
  expect(await append(second, 'b')).toMatchObject({ number: 1, state: 'ab', recent: [expect.any(String)] });
  expect(await first.newest()).toMatchObject({ number: 1, state: 'ab' });
  expect(await second.newest()).toEqual(await first.newest());
});

test('who loses a race changes what the winner left', async () => {
  const objects = createMemoryObjects();
  const [slow, fast] = [openLog(objects), openLog(objects)];
  const seen: (string | undefined)[] = [];
  await slow.change(async (now) => {
    seen.push(now);
    if (seen.length === 1) await append(fast, 'fast ');
    return `${now ?? ''}slow`;
  });
  expect(seen).toEqual([undefined, 'fast ']);
  expect((await slow.newest())?.state).toBe('fast slow');
});

test('a change that returns nothing, or throws, writes nothing', async () => {
  const log = openLog(createMemoryObjects());
  expect(await log.change(async () => undefined)).toBeUndefined();
  const refusal = new ServiceError('version_conflict', 'no');
  await expect(log.change(() => Promise.reject(refusal))).rejects.toBe(refusal);
  expect(await log.newest()).toBeUndefined();
});

test('an entry that no reader would take is refused, and nothing is written', async () => {
  const objects = createMemoryObjects();
  const encode = (): Uint8Array => new Uint8Array(128 * 1024 * 1024 + 1);
  await append(openLog(objects), 'a');
  const change = append(openLog(objects, { codec: { ...JSON_CODEC, encode } }), 'b');
  await expect(change).rejects.toMatchObject({ code: 'payload_too_large', hint: expect.any(String) });
  expect(await openLog(objects).newest()).toMatchObject({ number: 0, state: 'a' });
});

describe('a change that takes more than a minute', () => {
  const clock = createVirtualClock();

  function openSlow(objects: Objects, meanwhile: (run: number) => Promise<unknown>) {
    let runs = 0;
    const log = openLog(objects, { clock });
    const changed = clock.run(
      log.change(async (now) => {
        await clock.sleep(61_000);
        await meanwhile((runs += 1));
        return `${now ?? ''}slow`;
      }),
    );
    return { changed, runs: () => runs };
  }

  test.each([
    ['an empty log', '', 0],
    ['a log', 'a', 1],
  ])('is appended to %s without a second run if no other process changed it', async (_, before, number) => {
    const objects = createMemoryObjects();
    if (before !== '') await append(openLog(objects), before);
    const { changed, runs } = openSlow(objects, async () => {});
    expect(await changed).toMatchObject({ number, state: `${before}slow` });
    expect(runs()).toBe(1);
  });

  test('runs again if another process was faster', async () => {
    const objects = createMemoryObjects();
    const { changed } = openSlow(objects, async (run) => run === 1 && append(openLog(objects), 'fast '));
    expect(await changed).toMatchObject({ number: 1, state: 'fast slow' });
  });

  test('fails if others are always faster, and writes nothing', async () => {
    const objects = createMemoryObjects();
    const { changed, runs } = openSlow(objects, () => append(openLog(objects), 'fast '));
    await expect(changed).rejects.toMatchObject({
      code: 'unavailable',
      message: 'The change takes more than a minute, and the frame was changed by others each time.',
    });
    expect(runs()).toBe(3);
    expect((await openLog(objects).newest())?.state).toBe('fast fast fast ');
  });
});

test.each([
  [3, Infinity, [7, 8, 9]],
  [3, 5, [5, 6, 7, 8, 9]],
  [3, 8, [7, 8, 9]],
  [3, 0, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
])('a trim leaves the newest %i entries, and those from number %d on', async (keep, before, kept) => {
  const objects = createMemoryObjects();
  const log = openLog(objects);
  for (let i = 0; i < 10; i++) await append(log, 'a');
  await log.trim(keep, before);
  const keys = [];
  for await (const key of objects.list(PREFIX)) keys.push(key);
  expect(keys).toEqual(kept.map(keyOf));
});

test('a trim leaves the newest entries, and a process that knew an old one reads the newest', async () => {
  const objects = createMemoryObjects();
  const [log, other] = [openLog(objects), openLog(objects)];
  await append(log, 'a');
  await other.newest();
  for (let i = 0; i < 9; i++) await append(log, 'b');
  await log.trim(3);
  const keys = [];
  for await (const key of objects.list(PREFIX)) keys.push(key);
  expect(keys).toEqual([7, 8, 9].map(keyOf));
  expect(await other.newest()).toMatchObject({ number: 9 });
  expect(await append(openLog(objects), 'c')).toMatchObject({ number: 10 });
});

describe('entries younger than the minimum age, by the clock of the home, stay', () => {
  const MINUTE = 60_000;

  test.each([
    ['if all are young', [0, 1, 2, 3], {}, [0, 1, 2, 3]],
    ['but not older ones', [0, 1, 30, 31, 32], {}, [2, 3, 4]],
    ['and all after one that is young', [10, 0, 0, 39], {}, [0, 1, 2, 3]],
    ['with another minimum', [0, 1, 2, 3], { minAgeMs: 2 * MINUTE }, [2, 3]],
  ])('%s', async (_, minutes, options, kept) => {
    let now = 0;
    const objects = createMemoryObjects(() => now);
    const log = createFrameLog({ objects, prefix: PREFIX, codec: JSON_CODEC, ...options });
    for (const minute of minutes) {
      now = minute * MINUTE;
      await append(log, 'a');
    }
    await log.trim(1);
    const keys = [];
    for await (const key of objects.list(PREFIX)) keys.push(key);
    expect(keys).toEqual(kept.map(keyOf));
  });
});

test('a request that arrives again after its entry was removed misleads no reader, if tags tell seconds apart', async () => {
  let now = 0;
  const objects = withCoarseTags(
    createMemoryObjects(() => now),
    1000,
  );
  const requests: (readonly [key: string, body: Uint8Array])[] = [];
  const recorded: Objects = {
    ...objects,
    async create(key, body) {
      if (body instanceof Uint8Array) requests.push([key, body]);
      return objects.create(key, body);
    },
  };
  const writer = openLog(recorded, { minAgeMs: 1000 });
  const reader = openLog(objects);
  for (const part of ['a', 'b']) await append(writer, part);
  expect(await reader.newest()).toMatchObject({ number: 1 });
  for (const part of ['c', 'd', 'e']) {
    now += 500;
    await append(writer, part);
  }
  await writer.trim(1);
  const [, [key, body] = ['', new Uint8Array()]] = requests;
  expect(await objects.create(key, body)).toBe(true);
  expect(await reader.newest()).toMatchObject({ number: 4, state: 'abcde' });
});

test('an entry of a sleeping process under a used number is ignored', async () => {
  const objects = createMemoryObjects();
  const sleeper = openLog(objects);
  const log = openLog(objects);
  await append(log, 'a');
  const late = sleeper.change(async (now) => {
    if (now === 'a') {
      for (let i = 0; i < 9; i++) await append(log, 'b');
      await log.trim(3);
    }
    return `${now ?? ''}!`;
  });
  expect(await late).toMatchObject({ number: 10, state: `a${'b'.repeat(9)}!` });
  expect(await objects.stat(keyOf(1))).toBeDefined();
  for (const reader of [log, sleeper, openLog(objects)]) expect(await reader.newest()).toMatchObject({ number: 10 });
});

test('a change whose number a stray has by now is found by its id, and not made twice', async () => {
  const objects = createMemoryObjects();
  const other = openLog(objects);
  await append(other, 'a');
  let isFirst = true;
  const doubled: Objects = {
    ...objects,
    // The request arrives twice; between the two, others go on, and remove what they no longer need.
    async create(key, body) {
      const isCreated = await objects.create(key, body);
      if (!isFirst) return isCreated;
      isFirst = false;
      for (let i = 0; i < 5; i++) await append(other, 'b');
      await other.trim(2);
      await objects.create(key, JSON_CODEC.encode({ id: 'stray', recent: [], state: '?' }, undefined));
      return false;
    },
  };
  expect(await append(openLog(doubled), '!')).toMatchObject({ number: 1, state: 'a!' });
  expect((await other.newest())?.state).toBe('a!bbbbb');
});

test('names that are no entries are ignored', async () => {
  const objects = createMemoryObjects();
  const log = openLog(objects);
  await append(log, 'a');
  for (const name of [
    '9'.repeat(20),
    '1',
    `${'0'.repeat(20)}.checkpoint`,
    'x/00000000000000000009',
    '_last_checkpoint',
  ]) {
    await objects.create(`${PREFIX}${name}.json`, Buffer.from('{}'));
  }
  expect(await openLog(objects).newest()).toMatchObject({ number: 0, state: 'a' });
  await log.trim(1);
  expect(await append(openLog(objects), 'b')).toMatchObject({ number: 1, state: 'ab' });
});

test('logs of several processes in one directory lose no change', async () => {
  const root = await mkdtemp(join(tmpdir(), 'frame-log-'));
  const logs = Array.from({ length: 3 }, () => openLog(createDirectoryObjects(root)));
  await Promise.all(
    Array.from({ length: 30 }, (_, i) => append(logs[i % 3] ?? openLog(createMemoryObjects()), `${i},`)),
  );
  const parts = (await openLog(createDirectoryObjects(root)).newest())?.state.split(',').slice(0, -1).map(Number);
  expect(parts?.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, i) => i));
  await rm(root, { recursive: true });
});

describe('a home', () => {
  const broken = (change: Partial<Objects>): Objects => ({ ...createMemoryObjects(), ...change });
  const clock = createVirtualClock();
  const openOn = (objects: Objects): FrameLog<string> =>
    createFrameLog({ objects, prefix: PREFIX, codec: JSON_CODEC, deadlineMs: 5000, clock });

  test('that does not answer is asked until the deadline', async () => {
    const away = async (): Promise<never> => {
      throw new ServiceError('unavailable', 'away');
    };
    const start = clock.now();
    const read = openOn(broken({ list: () => ({ [Symbol.asyncIterator]: () => ({ next: away }) }) })).newest();
    await expect(clock.run(read)).rejects.toMatchObject({ code: 'unavailable', message: 'away' });
    expect(clock.now() - start).toBeGreaterThanOrEqual(5000);
  });

  test('whose answers to a create are lost for good leaves the outcome unknown', async () => {
    const create = async (key: string): Promise<never> => {
      throw new OutcomeUnknown(key, undefined);
    };
    await expect(clock.run(append(openOn(broken({ create })), 'a'))).rejects.toThrow(OutcomeUnknown);
  });

  test('that is full refuses a change, at once', async () => {
    const full = Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
    const change = append(openOn(broken({ create: () => Promise.reject(full) })), 'a');
    await expect(clock.run(change)).rejects.toBe(full);
  });

  test('with a damaged entry fails reads and changes, and asks no longer', async () => {
    const objects = createMemoryObjects();
    await objects.create(keyOf(0), Buffer.from('{"id":'));
    await expect(openOn(objects).newest()).rejects.toThrow(SyntaxError);
    await expect(append(openOn(objects), 'a')).rejects.toThrow(SyntaxError);
  });
});

test('a cancelled call ends', async () => {
  const log = openLog(createMemoryObjects());
  const signal = AbortSignal.abort(new Error('cancelled'));
  await expect(log.newest(signal)).rejects.toThrow('cancelled');
  await expect(log.change(async () => 'a', signal)).rejects.toThrow('cancelled');
  expect(await log.newest()).toBeUndefined();
});

describe('over a bad network, with processes that sleep', () => {
  test.each(Array.from({ length: 30 }, (_, seed) => seed))('the history of world %i is linearizable', async (seed) => {
    expect(await isLinearizable(worldOf(seed, createFrameLog))).toBe(true);
  });

  test.each(PLAIN_MUTANTS)('worlds show that it is wrong if $name', async (mutant) => {
    const createLog = await loadMutant(mutant);
    let seed = 0;
    while (seed < 100 && (await isLinearizable(worldOf(seed, createLog)))) seed += 1;
    expect(seed).toBeLessThan(100);
  });
});
