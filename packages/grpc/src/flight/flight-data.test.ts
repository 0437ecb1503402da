import { flight } from '@svc/proto';
import { expect, test } from 'vitest';
import { encodeFlightData } from './flight-data.ts';

const bytes = (length: number) => Uint8Array.from({ length }, (_, i) => i % 251);

test.each([
  [0, [0]],
  [1, [8]],
  [127, [127, 1]],
  [128, [128, 1]],
  [300, [16_383, 1, 16_384]],
  [20_000, [2_097_152]],
])('a header of %i bytes and a body of %o survive a round trip', (headerLength, parts) => {
  const header = bytes(headerLength);
  const body = parts.map(bytes);
  const bodyLength = parts.reduce((sum, length) => sum + length, 0);
  const read = flight.FlightData.decode(encodeFlightData({ kind: 'batch', header, body, bodyLength }));
  expect(Buffer.from(read.dataHeader).equals(header)).toBe(true);
  expect(Buffer.from(read.dataBody).equals(Buffer.concat(body))).toBe(true);
});
