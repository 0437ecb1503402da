import { expect, test } from 'vitest';
import { DEFAULT_TENANT, isCancelled, requestIdFrom } from './call.ts';

const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

test.each(['a', 'Az09_.:/+=@-', '...', 'svc_7', 'eyJ1', 'x'.repeat(128)])('the request id %j is kept', (sent) => {
  expect(requestIdFrom(sent)).toBe(sent);
});

test.each([
  undefined,
  '',
  'x'.repeat(129),
  'a b',
  'a\n',
  '\na',
  'ü',
  '<i>',
  'a,b',
  '"',
  '.',
  '..',
  `svc_t-abc123_${'A'.repeat(43)}`,
  'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln',
])('the request id %j is replaced by a new one', (sent) => {
  expect(requestIdFrom(sent)).toMatch(UUID);
  expect(requestIdFrom(sent)).not.toBe(requestIdFrom(sent));
});

test('a call is cancelled when its signal is aborted', () => {
  const controller = new AbortController();
  const call = { tenant: DEFAULT_TENANT, requestId: '1', signal: controller.signal };
  expect(isCancelled(call)).toBe(false);
  controller.abort();
  expect(isCancelled(call)).toBe(true);
});

test.each([true, false])('the signal of a call is not read if isCancelled is %j', (state) => {
  const call = {
    tenant: DEFAULT_TENANT,
    requestId: '1',
    isCancelled: state,
    get signal(): AbortSignal {
      throw new Error('the signal was read');
    },
  };
  expect(isCancelled(call)).toBe(state);
});
