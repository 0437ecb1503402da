import { ServiceError } from '@svc/errors';
import { expect, onTestFinished, test, vi } from 'vitest';
import { aCall } from './testing/stand-in.ts';
import { UpstreamRequest } from './upstream-request.ts';

test('a request of a cancelled call is over at once', () => {
  const inFlight = new Set<UpstreamRequest>();
  const upstream = new UpstreamRequest(aCall(AbortSignal.abort()), inFlight);
  expect(upstream).toMatchObject({ isOver: true, failure: { code: 'cancelled' } });
  expect(inFlight.size).toBe(0);
});

test('a request that is over sets no deadline', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const upstream = new UpstreamRequest(aCall(), new Set());
  upstream.end();
  upstream.waitFor(1000, () => new ServiceError('deadline_exceeded', 'Late.'));
  expect(vi.getTimerCount()).toBe(0);
});
