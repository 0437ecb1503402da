import { expect, test } from 'vitest';
import { requestIdFrom } from './call.ts';

const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

test.each(['a', 'Az09_.:/+=@-', 'x'.repeat(128)])('the request id %j is kept', (sent) => {
  expect(requestIdFrom(sent)).toBe(sent);
});

test.each([undefined, '', 'x'.repeat(129), 'a b', 'a\n', '\na', 'ü', '<i>', 'a,b', '"'])(
  'the request id %j is replaced by a new one',
  (sent) => {
    expect(requestIdFrom(sent)).toMatch(UUID);
    expect(requestIdFrom(sent)).not.toBe(requestIdFrom(sent));
  },
);
