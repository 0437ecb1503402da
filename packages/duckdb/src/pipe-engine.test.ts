import { tmpdir } from 'node:os';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPipeEngine, type PipeEngine } from './pipe-engine.ts';

const TOO_MUCH = "SELECT list(repeat('x', 100))::VARCHAR FROM range(100000000)";

let engine: PipeEngine;

beforeEach(() => {
  engine = createPipeEngine({ tempDirectory: tmpdir(), memoryBytes: 50e6 });
});

afterEach(() => engine.close());

test('a child that found no memory is replaced, since it may keep what it took', async () => {
  await engine.warm();
  const { childPid } = engine;
  await expect(engine.call({ op: 'texts', sql: TOO_MUCH })).rejects.toThrow(/allocate/);
  expect(await engine.call({ op: 'texts', sql: "SELECT 'next'" })).toEqual([['next']]);
  expect(engine.childPid).not.toBe(childPid);
});

test('what others read from it goes on', async () => {
  const batches = engine.read({
    op: 'read',
    sql: 'SELECT range AS id FROM range(2000000)',
    plans: [{ kind: 'copy', width: 8, type: 'BIGINT' }],
  });
  await batches.next();
  await expect(engine.call({ op: 'texts', sql: TOO_MUCH })).rejects.toThrow(/allocate/);
  let next = await batches.next();
  while (next.done !== true) next = await batches.next();
  expect(next.value).toBe(2_000_000);
});
