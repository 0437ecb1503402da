// The spans of the children that run SQL.
import { existsSync } from 'node:fs';
import { type Call, type EngineSpan, parseHandle, type RequestOrigin, type TraceContext } from '@svc/frames';
import { longFrame } from '@svc/frames/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ChildEnd } from '../../src/child-link/child-errors.ts';
import type { ChildLink, LinkRequest } from '../../src/child-link/child-link.ts';
import { startRequest } from '../../src/child-link/pending-request.ts';
import { callOf, createSqlFixture, rowsOf, type SqlFixture } from '../../src/testing/sql-fixture.ts';
import { sqlChildPids } from '../../src/testing/sql-processes.ts';
import { SLOW } from '../../../../test/tier.ts';

const TRACE: TraceContext = {
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  isSampled: true,
  isRecorded: true,
};

let fixture: SqlFixture;
const seen: EngineSpan[] = [];
const onSpans = vi.fn<(origin: RequestOrigin, spans: readonly EngineSpan[]) => void>((_origin, spans) => {
  seen.push(...spans);
});

beforeAll(async () => {
  fixture = await createSqlFixture({ onSpans });
  await fixture.store.put({ tenant: 'default', handle: parseHandle('t') }, longFrame(5));
});

afterAll(() => fixture.close());

beforeEach(() => {
  seen.length = 0;
  onSpans.mockClear();
});

function tracedCall(trace: TraceContext | undefined): Call {
  return { ...callOf(), requestId: 'r-7', trace };
}

/** The names of the spans below another one. */
const below = (parentSpanId: string | undefined): readonly string[] =>
  seen.filter((span) => span.parentSpanId === parentSpanId).map(({ name }) => name);

const named = (name: string): EngineSpan | undefined => seen.find((span) => span.name === name);

describe('a call whose trace is recorded', () => {
  test('has a span for each request to the child, and their steps below', async () => {
    const call = tracedCall(TRACE);
    expect(await rowsOf(fixture.engine, 'SELECT count(*) FROM t', {}, call)).toEqual([[5n]]);
    expect(below(TRACE.spanId)).toEqual(['duckdb check', 'duckdb prepare', 'duckdb rows']);
    expect(below(named('duckdb rows')?.spanId)).toEqual(['execute', 'fetch']);
    expect(onSpans.mock.calls.map(([origin]) => origin)).toEqual([call, call, call]);
    expect(new Set(seen.map(({ spanId }) => spanId)).size).toBe(seen.length);
    for (const { spanId, durationMs, endedMsAgo } of seen) {
      expect(spanId).toMatch(/^[\da-f]{16}$/);
      expect(durationMs).toBeGreaterThanOrEqual(0);
      // Both processes have the same clock: no span ends in the future.
      expect(endedMsAgo).toBeGreaterThanOrEqual(0);
    }
    expect(named('duckdb rows')?.attributes).toEqual({
      'process.pid': expect.any(Number),
      'svc.batches': 1,
      'svc.bytes': expect.any(Number),
      'svc.blocked_ms': expect.any(Number),
    });
  });

  test('has the start of the child that it waited for', SLOW, async () => {
    const engine = fixture.otherEngine({ onSpans, startAheadMs: 600_000 });
    expect(await rowsOf(engine, 'SELECT 1', {}, tracedCall(TRACE))).toEqual([[1]]);
    expect(below(named('duckdb check')?.spanId)).toEqual(['start']);
    expect(below(named('duckdb prepare')?.spanId)).toEqual([]);
  });

  test.each([
    ['SELECT nope FROM t', 'duckdb prepare', 'sql_fault'],
    ["COPY t TO 'x'", 'duckdb check', 'permission_denied'],
    ["SELECT error('boo') FROM t", 'duckdb rows', 'sql_fault'],
  ])('shows where %s fails', async (sql, name, code) => {
    await expect(rowsOf(fixture.engine, sql, {}, tracedCall(TRACE))).rejects.toThrow();
    expect(named(name)?.attributes).toMatchObject({ 'error.type': code });
  });

  test('has the span of a description', async () => {
    await fixture.engine.describe(tracedCall(TRACE), 'SELECT 1');
    expect(below(TRACE.spanId)).toEqual(['duckdb check', 'duckdb prepare']);
  });
});

const { isRecorded: _isRecorded, ...NOT_RECORDED } = TRACE;

test.each([
  ['without a trace', undefined],
  ['whose trace is not recorded here', NOT_RECORDED],
])('a call %s has no spans, and the child gets no trace', async (_name, trace) => {
  await rowsOf(fixture.engine, 'SELECT 1', {}, tracedCall(trace));
  expect(onSpans).not.toHaveBeenCalled();
  const begin = vi.fn<ChildLink['begin']>();
  const request: LinkRequest = { op: 'check', sql: 'SELECT 1' };
  const link = { begin } as Partial<ChildLink> as ChildLink;
  expect(() => startRequest(link, request, { origin: tracedCall(trace), onSpans }, {})).toThrow();
  // The request itself: nothing is copied or added.
  expect(begin.mock.calls[0]?.[0]).toBe(request);
});

test.runIf(existsSync('/proc'))('a child that is killed names the request that it was working on', SLOW, async () => {
  const ends: Promise<ChildEnd>[] = [];
  const engine = fixture.otherEngine({ onChild: ({ exited }) => ends.push(exited), startAheadMs: 600_000 });
  const call = tracedCall(TRACE);
  const running = engine.query(call, 'SELECT count(*) FROM range(1000000000) a, range(1000000000) b');
  running.catch(() => undefined);
  await vi.waitFor(() => expect(ends.length).toBeGreaterThan(0));
  for (const pid of sqlChildPids()) process.kill(pid, 'SIGKILL');
  await expect(running).rejects.toThrow();
  expect(await ends[0]).toEqual({ reason: 'crashed', requests: [call] });
});
