import { status as Status } from '@grpc/grpc-js';
import { describe, expect, test } from 'vitest';
import type { Cluster } from '../driver.ts';
import { inParentheses } from './bind-frames.ts';
import { type CallContext, isUnimplemented, statusError } from './status-error.ts';

const CLUSTER: Cluster = { protocol: 'flight-sql', host: 'flight.example', port: 1234, hasTls: false, token: 's3cret' };
const SQL = "SELECT 'é', here";
const CONTEXT: CallContext = { cluster: CLUSTER, sql: SQL, bound: inParentheses(SQL) };

function errorOf(code: number, details: string, trailers: Readonly<Record<string, string>> = {}, context = CONTEXT) {
  return statusError({ code, details, trailer: (key) => trailers[key] }, context);
}

describe('the status of an engine', () => {
  test.each([
    ['INVALID_ARGUMENT', 'bad\nplan', 'invalid_sql', 'bad'],
    ['OUT_OF_RANGE', 'too big', 'invalid_sql', 'too big'],
    ['UNAUTHENTICATED', 'no', 'scheduler_failed', 'The scheduler refused the credentials: no'],
    ['PERMISSION_DENIED', 'no', 'scheduler_failed', 'The scheduler refused the credentials: no'],
    ['UNAVAILABLE', 'no', 'scheduler_failed', 'The scheduler cannot be reached, or the connection to it broke.'],
    ['DEADLINE_EXCEEDED', 'late', 'deadline_exceeded', 'The scheduler ran out of time: late'],
    ['RESOURCE_EXHAUSTED', 'full', 'scheduler_failed', "The scheduler's answer cannot be taken: full"],
    ['CANCELLED', 'gone', 'scheduler_failed', 'The scheduler cancelled the statement: gone'],
    ['INTERNAL', '', 'scheduler_failed', 'The scheduler failed: It gave no reason.'],
    ['INTERNAL', 'rule failed\ncaused by\nCast error', 'scheduler_failed', 'The scheduler failed: Cast error'],
  ] as const)('%s %j is %s', (name, details, code, message) => {
    expect(errorOf(Status[name], details)).toMatchObject({ code, message, query: SQL });
  });

  test.each([
    ['INTERNAL', 'Table not found: x', 'invalid_sql'],
    ['UNKNOWN', 'Table not found: x', 'invalid_sql'],
    ['INTERNAL', 'Received RST_STREAM with code 2', 'scheduler_failed'],
    ['UNAVAILABLE', 'No connection', 'scheduler_failed'],
  ] as const)('%s %j while it plans is %s', (name, details, code) => {
    expect(errorOf(Status[name], details, {}, { ...CONTEXT, isPlanning: true })).toMatchObject({ code });
  });

  test.each([
    ['found here at 15:19 expected end', 12],
    ['sql parser error: Expected end at Line: 2, Column: 13', 12],
    ['(line 2, pos 13)', 12],
    ['found x at 0:1 expected y', undefined],
    ['nothing', undefined],
  ])('%s has the position %s', (details, position) => {
    expect(errorOf(Status.INVALID_ARGUMENT, details).position).toBe(position);
  });

  test('tells a call that the server does not have', () => {
    expect(isUnimplemented(errorOf(Status.UNIMPLEMENTED, 'x'))).toBe(true);
    expect(isUnimplemented(errorOf(Status.INTERNAL, 'x'))).toBe(false);
    expect(isUnimplemented(new Error('x'))).toBe(false);
  });

  test('is the cause, in words for the log', () => {
    expect(String(errorOf(Status.UNAUTHENTICATED, 'no').cause)).toBe('Error: gRPC status 16: no');
  });

  test('never shows the token', () => {
    const { message, hint } = errorOf(Status.UNAUTHENTICATED, 'no');
    expect(`${message} ${hint}`).not.toContain('s3cret');
    expect(hint).toContain('scheduler.token');
  });
});

describe('the status of another server of this kind', () => {
  const peer = (code: string, hint: string, more = {}) => ({ 'svc-error-code': code, 'svc-error-hint': hint, ...more });

  test('has its code, hint and position', () => {
    const trailers = peer('invalid_sql', 'Did you mean "%C3%A9"?', { 'svc-error-position': '14' });
    expect(errorOf(Status.INVALID_ARGUMENT, 'There is no frame. Did you mean "é"?', trailers)).toMatchObject({
      code: 'invalid_sql',
      message: 'There is no frame.',
      hint: 'Did you mean "é"?',
      position: 12,
      query: SQL,
    });
  });

  test.each([
    ['permission_denied', 'The function f reads files.', 'permission_denied'],
    ['permission_denied', 'The caller lacks the permission query.', 'scheduler_failed'],
    ['unauthenticated', 'The token is unknown.', 'scheduler_failed'],
    ['out_of_memory', 'Too much.', 'out_of_memory'],
    ['deadline_exceeded', 'Too late.', 'deadline_exceeded'],
    ['internal', 'The server failed.', 'scheduler_failed'],
    ['cancelled', 'The server stops.', 'scheduler_failed'],
    ['no_such_code', 'Unknown.', 'scheduler_failed'],
  ])('%s %j is %s', (sent, message, code) => {
    expect(errorOf(Status.INTERNAL, message, peer(sent, 'A hint.'))).toMatchObject({ code });
  });

  test('says when to try again', () => {
    const trailers = peer('too_many_requests', 'Wait.', { 'retry-after': '7' });
    const error = errorOf(Status.RESOURCE_EXHAUSTED, 'The queue is full.', trailers);
    expect(error).toMatchObject({ code: 'too_many_requests', retryAfterSeconds: 7 });
  });
});
