import { describe, expect, test } from 'vitest';
import { ERROR_CODES, ServiceError, toErrorBody, toServiceError } from './index.ts';

describe('ServiceError', () => {
  test('defaults to the hint of its code', () => {
    expect(new ServiceError('handle_not_found', 'x').hint).toBe(ERROR_CODES.handle_not_found.hint);
    expect(new ServiceError('handle_not_found', 'x', { hint: 'y' }).hint).toBe('y');
  });

  test('toServiceError returns a ServiceError unchanged', () => {
    const error = new ServiceError('version_conflict', 'x');
    expect(toServiceError(error)).toBe(error);
  });

  test.each([
    ["EMFILE: too many open files, open '/frames/a.parquet'", 'unavailable'],
    ['ENFILE: file table overflow, open', 'unavailable'],
    ['spawn /bin/sh EMFILE', 'unavailable'],
    ['IO Error: Cannot open file "/frames/a.parquet": Too many open files', 'unavailable'],
    ['EIO: i/o error, read', 'internal'],
    ['Too many open questions', 'internal'],
  ])('toServiceError of %j is %s, without the message', (message, code) => {
    const error = toServiceError(new Error(message));
    expect(error.code).toBe(code);
    expect(JSON.stringify(toErrorBody(error, 'r'))).not.toMatch(/parquet|EMFILE/);
  });

  test('toServiceError hides an unknown failure and keeps it as the cause', () => {
    const secret = new Error('password=hunter2 in /etc/secret');
    const error = toServiceError(secret);
    expect(error.code).toBe('internal');
    expect(error.cause).toBe(secret);
    expect(JSON.stringify(toErrorBody(error, 'r'))).not.toMatch(/hunter2|secret/);
  });
});

describe('toErrorBody', () => {
  test('has the keys in the documented order and omits missing ones', () => {
    expect(JSON.stringify(toErrorBody(new ServiceError('internal', 'm', { hint: 'h' }), 'r-1'))).toBe(
      '{"error":"m","code":"internal","hint":"h","requestId":"r-1"}',
    );
    const placed = new ServiceError('invalid_argument', 'm', { hint: 'h', query: 'select', position: 0 });
    expect(JSON.stringify(toErrorBody(placed, 'r-1'))).toBe(
      '{"error":"m","code":"invalid_argument","hint":"h","query":"select","position":0,"requestId":"r-1"}',
    );
  });
});

describe('ERROR_CODES', () => {
  test.each(Object.entries(ERROR_CODES))('%s has complete sentences', (_code, row) => {
    expect(row.meaning).toMatch(/^[A-Z].*\.$/);
    expect(row.hint).toMatch(/^(GET|[A-Z]).*\.$/);
  });
});
