import { getEventListeners } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { cancelledError, onAbort, orAborted } from './cancellation.ts';
import { ServiceError } from './service-error.ts';

describe('cancelledError', () => {
  test('returns a reason that has a code as it is', () => {
    const late = new ServiceError('deadline_exceeded', 'Too late.');
    expect(cancelledError(late)).toBe(late);
  });

  test.each([
    ['an error without a code', AbortSignal.abort().reason],
    ['a text', 'bye'],
    ['nothing', undefined],
  ])('keeps %s as the cause', (_name, reason: unknown) => {
    const error = cancelledError(reason);
    expect(error).toMatchObject({ code: 'cancelled', message: 'The request was cancelled.' });
    expect(error.cause).toBe(reason);
  });

  test('takes a message of its own', () => {
    expect(cancelledError(undefined, 'The upload was cancelled.').message).toBe('The upload was cancelled.');
  });
});

describe('onAbort', () => {
  test('calls the listener when the signal is aborted, and removes it', () => {
    const controller = new AbortController();
    const listener = vi.fn<() => void>();
    onAbort(controller.signal, listener);
    expect(listener).not.toHaveBeenCalled();
    controller.abort();
    expect(listener).toHaveBeenCalledOnce();
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  test('calls the listener at once if the signal is aborted already', () => {
    const listener = vi.fn<() => void>();
    onAbort(AbortSignal.abort(), listener)();
    expect(listener).toHaveBeenCalledOnce();
  });

  test('does not call a listener that was removed', () => {
    const controller = new AbortController();
    const listener = vi.fn<() => void>();
    onAbort(controller.signal, listener)();
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    controller.abort();
    expect(listener).not.toHaveBeenCalled();
  });

  test('calls a listener once for each time it was added', () => {
    const controller = new AbortController();
    const listener = vi.fn<() => void>();
    const remove = onAbort(controller.signal, listener);
    onAbort(controller.signal, listener);
    remove();
    controller.abort();
    expect(listener).toHaveBeenCalledOnce();
  });

  test('never calls the listener without a signal', () => {
    const listener = vi.fn<() => void>();
    onAbort(undefined, listener)();
    expect(listener).not.toHaveBeenCalled();
  });
});

describe('orAborted', () => {
  const late = new ServiceError('deadline_exceeded', 'Too late.');

  test('returns the result, and removes its listener', async () => {
    const { signal } = new AbortController();
    expect(await orAborted(Promise.resolve(1), signal)).toBe(1);
    expect(await orAborted(Promise.resolve(1), undefined)).toBe(1);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('fails with the reason as soon as the signal is aborted', async () => {
    const controller = new AbortController();
    const waiting = orAborted(new Promise(() => undefined), controller.signal);
    controller.abort(late);
    await expect(waiting).rejects.toBe(late);
  });

  test('fails if the signal is aborted already, and handles a failure of the work', async () => {
    const unhandled = vi.fn<() => void>();
    process.on('unhandledRejection', unhandled);
    await expect(orAborted(Promise.reject(new Error('later')), AbortSignal.abort(late))).rejects.toBe(late);
    await new Promise(setImmediate);
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});
