import { describe, expect, test } from 'vitest';
import { continueTrace, DEFAULT_TENANT, isCancelled, requestIdFrom, startSpan, traceHeaders } from './call.ts';

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

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

describe('continueTrace', () => {
  test.each([
    [`00-${TRACE}-${SPAN}-01`, true],
    [`00-${TRACE}-${SPAN}-00`, false],
    // Only the lowest bit says whether the trace is sampled.
    [`00-${TRACE}-${SPAN}-02`, false],
    [`00-${TRACE}-${SPAN}-ff`, true],
    // A later version may have more fields.
    [`01-${TRACE}-${SPAN}-01`, true],
    [`cc-${TRACE}-${SPAN}-01-what-the-future-brings`, true],
  ])('continues %s, sampled: %s', (traceparent, isSampled) => {
    expect(continueTrace({ traceparent })).toEqual({ traceId: TRACE, spanId: SPAN, isSampled });
  });

  test.each([
    undefined,
    '',
    'x',
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-1`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-01.`,
    `cc-${TRACE}-${SPAN}-01.future`,
    `ff-${TRACE}-${SPAN}-01`,
    `0-${TRACE}-${SPAN}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}0-${SPAN}-01`,
    `00-${TRACE.slice(1)}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE}-${SPAN}-0x`,
    ` 00-${TRACE}-${SPAN}-01`,
    // Node joins repeated headers.
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
    [`00-${TRACE}-${SPAN}-01`],
  ])('ignores %j', (traceparent) => {
    expect(continueTrace({ traceparent })).toBeUndefined();
  });

  test.each([
    ['rojo=00f067aa0ba902b7,congo=t61rcWkgMzE', true],
    ['x'.repeat(512), true],
    ['', false],
    ['x'.repeat(513), false],
    ['a=\u00e9', false],
    ['a=1\r\nx-evil: 1', false],
  ])('the tracestate %j is kept: %s', (tracestate, isKept) => {
    const trace = continueTrace({ traceparent: `00-${TRACE}-${SPAN}-01`, tracestate });
    expect(trace).toEqual({
      traceId: TRACE,
      spanId: SPAN,
      isSampled: true,
      ...(isKept && { traceState: tracestate }),
    });
  });

  test('a tracestate alone is no trace', () => {
    expect(continueTrace({ tracestate: 'a=1' })).toBeUndefined();
  });
});

test('a span has an id of its own, the trace of its parent, and what its parent was decided to be', () => {
  const first = startSpan();
  expect(first).toEqual({
    traceId: expect.stringMatching(/^[\da-f]{32}$/),
    spanId: expect.stringMatching(/^[\da-f]{16}$/),
    isSampled: true,
  });
  const next = startSpan({ ...first, traceState: 'a=1' });
  expect(next).toEqual({ ...first, spanId: next.spanId, parentSpanId: first.spanId, traceState: 'a=1' });
  expect(next.spanId).not.toBe(first.spanId);
  expect(startSpan().traceId).not.toBe(first.traceId);
});

test.each([true, false])('what is passed on is continued, sampled: %s', (isSampled) => {
  const trace = { traceId: TRACE, spanId: SPAN, isSampled, traceState: 'a=1' };
  expect(continueTrace(traceHeaders(trace))).toEqual(trace);
  expect(traceHeaders({ traceId: TRACE, spanId: SPAN, isSampled })).not.toHaveProperty('tracestate');
  expect(traceHeaders(undefined)).toEqual({});
});
