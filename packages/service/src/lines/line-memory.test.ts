import { expect, test } from 'vitest';
import { createLineMemory } from './line-memory.ts';

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
