import { expect, onTestFinished, test, vi } from 'vitest';
import { createLog, type Log } from '../src/observers/log.ts';
import { createStopSteps, startStopDeadline, STORE_STEP } from '../src/shutdown.ts';

const never = (): Promise<void> => new Promise(() => {});
const done = (): Promise<void> => Promise.resolve();
const failed = (): Promise<void> => Promise.reject(new Error('closing failed'));

test.each([
  [
    'the store hangs',
    [
      ['HTTP', done],
      [STORE_STEP, never],
    ],
    'the store',
    1,
  ],
  [
    'closing the store failed',
    [
      [STORE_STEP, failed],
      ['gRPC', never],
    ],
    'gRPC',
    1,
  ],
  [
    'the store is closed',
    [
      [STORE_STEP, done],
      ['gRPC', never],
    ],
    'gRPC',
    0,
  ],
  ['the start hangs', [['the start', never]], 'the start', 1],
] as const)('when %s, the process ends two seconds after the grace and says so', async (_name, work, late, code) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const exit = vi.fn<(code: number) => void>();
  const error = vi.fn<Log['error']>();
  const log: Log = { ...createLog({ level: 'off', format: 'json' }), error };
  const steps = createStopSteps();
  startStopDeadline({ steps, graceMs: 500, log, exit });
  for (const [name, step] of work) steps.run(name, step()).catch(() => undefined);
  await vi.advanceTimersByTimeAsync(500);
  expect(exit).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(2000);
  expect(exit.mock.calls).toEqual([[code]]);
  expect(error.mock.calls[0]?.[0]).toBe(`Shutdown is late: exiting without waiting for ${late}.`);
});
