import { flightSql, GetFrameRequest } from '@svc/proto';
import { describe, expect, test } from 'vitest';
import { createMessageDecoder, decodeRequest, messageLimit } from './message-limits.ts';

const MIB = 1024 ** 2;

function framed(size: number): Buffer {
  const message = Buffer.alloc(5 + size, 7);
  message[0] = 0;
  message.writeUInt32BE(size, 1);
  return message;
}

function unexpected(): never {
  throw new Error('There are few messages.');
}

describe('the message decoder', () => {
  test.each([
    [32, 0],
    [33, 1],
    [100, 68],
  ])('of %i messages puts %i back', (count, expected) => {
    const rest: Buffer[] = [];
    const decoder = createMessageDecoder(10, (bytes) => rest.push(bytes));
    const all = Array.from({ length: count }, (_, i) => framed(i % 3));
    expect(decoder.write(Buffer.concat(all))).toEqual(all.slice(0, 32));
    expect(Buffer.concat(rest)).toEqual(Buffer.concat(all.slice(32)));
    expect(all.slice(32)).toHaveLength(expected);
  });

  test.each([1, 4, 7001, 3 * MIB])('finds messages of all lengths in chunks of %i bytes', (chunkBytes) => {
    const sizes = chunkBytes < 10 ? [0, 3, 0, 200] : [0, 3, 20_000, 9 * MIB, 0, MIB - 5, MIB, 1];
    const all = Buffer.concat(sizes.map(framed));
    const decoder = createMessageDecoder(64 * MIB, unexpected);
    const messages: Buffer[] = [];
    for (let at = 0; at < all.length; at += chunkBytes) {
      messages.push(...decoder.write(all.subarray(at, at + chunkBytes)));
    }
    expect(messages.map(({ length }) => length - 5)).toEqual(sizes);
    expect(Buffer.concat(messages).equals(all)).toBe(true);
  });

  test('refuses a message that is too long once, and ignores the rest of it', () => {
    const decoder = createMessageDecoder(10, unexpected);
    expect(decoder.write(framed(10))).toHaveLength(1);
    expect(() => decoder.write(framed(11))).toThrow('Received message larger than max (11 vs 10)');
    expect(decoder.write(framed(1))).toEqual([]);
  });
});

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
