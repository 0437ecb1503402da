import { expect, test } from 'vitest';
import { parseOldName } from './old-names.ts';

const V = '01M7EY6RV4XGCAW41JMB7D644V';

test.each([
  [`trades@${V}.parquet`, { kind: 'frame', handle: 'trades', version: V }],
  [`trades@${V}.parts`, { kind: 'manifest', handle: 'trades', version: V }],
  [`trades@${V}.part.parquet`, { kind: 'part', handle: 'trades', version: V }],
  [`a.b-c_d@${V}.json`, { kind: 'expiry', handle: 'a.b-c_d', version: V }],
  [`t@${V}.dropped`, { kind: 'tombstone', handle: 't', version: V }],
  [`t@${V}.moved`, { kind: 'move', handle: 't', version: V }],
  [`trades@${V.toLowerCase()}.parquet`, undefined],
  [`trades@${V}.parquet.bak`, undefined],
  [`a b@${V}.parquet`, undefined],
  [`x@y@${V}.parquet`, undefined],
  // It has no successor.
  [`trades@7ZZZZZZZZZZZZZZZZZZZZZZZZZ.parquet`, undefined],
  [`trades.parquet`, undefined],
  [`.tmp-0123`, undefined],
])('the file %s', (name, parsed) => {
  expect(parseOldName(name)).toEqual(parsed);
});
