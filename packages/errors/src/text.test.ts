import { describe, expect, test } from 'vitest';
import { editDistance, nearestName } from './text.ts';

describe('editDistance', () => {
  test.each([
    ['', '', 0],
    ['', 'abc', 3],
    ['abc', '', 3],
    ['abc', 'abc', 0],
    ['abc', 'abd', 1],
    ['abc', 'acb', 1],
    ['abc', 'abcd', 1],
    ['ab', 'ba', 1],
    ['kitten', 'sitting', 3],
    ['port', 'prot', 1],
  ])('of %j and %j is %d', (left, right, distance) => {
    expect(editDistance(left, right)).toBe(distance);
    expect(editDistance(right, left)).toBe(distance);
  });
});

describe('nearestName', () => {
  const candidates = new Map([
    ['grpc_port', 'server.grpc_port'],
    ['grpc_host', 'server.grpc_host'],
    ['level', 'level'],
  ]);

  test.each([
    ['grpc_prot', 'server.grpc_port'],
    ['GRPC_HOST', 'server.grpc_host'],
    ['levl', 'level'],
    ['level', 'level'],
    ['port', undefined],
    ['x', undefined],
    ['', undefined],
    ['x'.repeat(100_000), undefined],
  ])('of %j is %j', (typed, name) => {
    expect(nearestName(typed, candidates)).toBe(name);
  });
});
