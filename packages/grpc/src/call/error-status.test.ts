import { status as Status } from '@grpc/grpc-js';
import { ERROR_CODES, ServiceError } from '@svc/errors';
import { expect, test } from 'vitest';
import { errorStatus } from './error-status.ts';

const CALL = { operation: 'svc.frames.v1.FrameService/GetFrame', requestId: 'r-1' };
const FLIGHT_CALL = { ...CALL, operation: 'arrow.flight.protocol.FlightService/DoGet' };

test.each([
  ['invalid_argument', Status.INVALID_ARGUMENT],
  ['invalid_data', Status.INVALID_ARGUMENT],
  ['permission_denied', Status.PERMISSION_DENIED],
  ['handle_not_found', Status.NOT_FOUND],
  ['route_not_found', Status.UNIMPLEMENTED],
  ['handle_exists', Status.ALREADY_EXISTS],
  ['version_conflict', Status.ABORTED],
  ['tsdb_not_configured', Status.FAILED_PRECONDITION],
  ['payload_too_large', Status.RESOURCE_EXHAUSTED],
  ['cancelled', Status.CANCELLED],
  ['internal', Status.INTERNAL],
  ['tsdb_failed', Status.UNAVAILABLE],
  ['unavailable', Status.UNAVAILABLE],
  ['deadline_exceeded', Status.DEADLINE_EXCEEDED],
  ['out_of_memory', Status.RESOURCE_EXHAUSTED],
  ['quota_exceeded', Status.RESOURCE_EXHAUSTED],
] as const)('%s is the status %i', (code, expected) => {
  const status = errorStatus(new ServiceError(code, 'What happened.', { hint: 'What to do.' }), CALL);
  expect(status.code).toBe(expected);
  expect(status.details).toBe('What happened.');
  expect(status.metadata.toJSON()).toEqual({
    'svc-error-code': [code],
    'svc-error-hint': ['What to do.'],
    'x-request-id': ['r-1'],
  });
});

test.each([
  ['handle_not_found', 'ListFrames lists all handles.'],
  ['internal', ERROR_CODES.internal.hint],
] as const)('the hint of %s is %j', (code, hint) => {
  expect(errorStatus(new ServiceError(code, 'x'), CALL).metadata.get('svc-error-hint')).toEqual([hint]);
});

test.each([
  ['too_many_requests', undefined, ['1']],
  ['too_many_requests', 7, ['7']],
  ['quota_exceeded', undefined, []],
] as const)('%s in %s s has retry-after %j', (code, retryAfterSeconds, expected) => {
  const error = new ServiceError(code, 'x', retryAfterSeconds === undefined ? {} : { retryAfterSeconds });
  expect(errorStatus(error, CALL).metadata.get('retry-after')).toEqual(expected);
});

test.each([
  ['invalid_sql', 7, ['7']],
  ['invalid_sql', undefined, []],
] as const)('%s at %s has svc-error-position %j', (code, position, expected) => {
  const error = new ServiceError(code, 'x', position === undefined ? {} : { position });
  expect(errorStatus(error, CALL).metadata.get('svc-error-position')).toEqual(expected);
});

test('a Flight client gets the hint in the message if it says more than the code', () => {
  const own = new ServiceError('invalid_sql', 'There is no table "a".', { hint: 'Did you mean "b"?' });
  expect(errorStatus(own, FLIGHT_CALL).details).toBe('There is no table "a". Did you mean "b"?');
  expect(errorStatus(new ServiceError('invalid_sql', 'No.'), FLIGHT_CALL).details).toBe('No.');
});
