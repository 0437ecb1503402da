import { expect, test } from 'vitest';
import { createProvedCallers } from './proved-callers.ts';

const connection = {};
const sources = {};
const caller = { id: 't-reader', tenant: 'alpha', permissions: new Set(['read'] as const) };

function createProved() {
  const proved = createProvedCallers();
  proved.add(connection, 'Bearer a', sources, { caller, untilMs: 1000 });
  return proved;
}

test('the value that a connection has proved is remembered', () => {
  expect(createProved().find(connection, 'Bearer a', sources, 999)).toBe(caller);
});

test.each([
  ['on another connection', {}, 'Bearer a', sources, 0],
  ['for another value', connection, 'Bearer b', sources, 0],
  ['for a longer value', connection, 'Bearer a ', sources, 0],
  ['when the sources have changed', connection, 'Bearer a', {}, 0],
  ['when it has expired', connection, 'Bearer a', sources, 1000],
])('it is checked again %s', (_when, at, authorization, from, nowMs) => {
  expect(createProved().find(at, authorization, from, nowMs)).toBeUndefined();
});

test('a wrong value does not make a connection forget the right one', () => {
  const proved = createProved();
  proved.find(connection, 'Bearer b', sources, 0);
  expect(proved.find(connection, 'Bearer a', sources, 0)).toBe(caller);
});

test.each([
  ['of other sources', {}, 0],
  ['that has expired', sources, 1000],
])('a value %s is not held any longer', (_what, from, nowMs) => {
  const proved = createProved();
  proved.find(connection, 'Bearer a', from, nowMs);
  expect(proved.find(connection, 'Bearer a', sources, 0)).toBeUndefined();
});

test.each(['Bearer e30.other.signature', 'Bearer signature', 'bearer e30.claims.signature', 'signature'])(
  'a JWT is checked again if only its signature is the same: %s',
  (authorization) => {
    const proved = createProvedCallers();
    proved.add(connection, 'Bearer e30.claims.signature', sources, { caller, untilMs: 1000 });
    expect(proved.find(connection, authorization, sources, 0)).toBeUndefined();
    expect(proved.find(connection, 'Bearer e30.claims.signature', sources, 0)).toBe(caller);
  },
);

test('a connection has one value at a time', () => {
  const proved = createProved();
  proved.add(connection, 'Bearer b', sources, { caller, untilMs: 1000 });
  expect(proved.find(connection, 'Bearer a', sources, 0)).toBeUndefined();
});
