import { flightSql, GetFrameRequest } from '@svc/proto';
import { describe, expect, test } from 'vitest';
import { decodeRequest, messageLimit } from './message-limits.ts';

const MIB = 1024 ** 2;

describe('a request', () => {
  test('can name all columns of the widest frame', () => {
    const request = GetFrameRequest.fromPartial({ handle: 'wide', columns: Array.from({ length: 10_000 }, () => 'x') });
    expect(decodeRequest(GetFrameRequest, GetFrameRequest.encode(request).finish()).columns).toHaveLength(10_000);
  });

  test('with more fields is refused, also if they are unknown or packed', () => {
    expect(() => decodeRequest(GetFrameRequest, Buffer.alloc(40_000, Uint8Array.of(0x22, 0)))).toThrow('12000 fields');
    expect(() => decodeRequest(GetFrameRequest, Buffer.alloc(40_000, Uint8Array.of(0x78, 1)))).toThrow('12000 fields');
    const info = flightSql.CommandGetSqlInfo.encode({ info: Array.from({ length: 20_000 }, () => 1) }).finish();
    expect(() => decodeRequest(flightSql.CommandGetSqlInfo, info)).toThrow('12000 fields');
  });

  test('with more than its limit of text is refused', () => {
    const request = GetFrameRequest.fromPartial({ handle: 'h'.repeat(MIB), columns: ['c'.repeat(MIB)] });
    expect(() => decodeRequest(GetFrameRequest, GetFrameRequest.encode(request).finish())).toThrow('bytes of text');
  });
});

test('only messages with rows may be as large as the server allows', () => {
  const limits = ['FrameService/PutFrame', 'FlightService/DoPut', 'FlightService/DoGet', 'Health/Check'].map((path) =>
    messageLimit(`/${path}`, 64 * MIB),
  );
  expect(limits).toEqual([64 * MIB, 64 * MIB, 4 * MIB, MIB + 64 * 1024]);
  expect(messageLimit('/FlightService/DoGet', 1000)).toBe(1000);
});
