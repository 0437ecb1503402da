import { expect, test } from 'vitest';
import { createFrameVersions, timeOfVersion } from './frame-versions.ts';

test('a version carries its time', () => {
  const versions = createFrameVersions(() => 1_700_000_000_000);
  expect(timeOfVersion(versions.next('')).getTime()).toBe(1_700_000_000_000);
});

test('versions increase even if the clock stands still, goes back, or jumps', () => {
  const times = [5000, 5000, 4000, 1, 9000, 9000, 2];
  let at = 0;
  const versions = createFrameVersions(() => times[at++] ?? 1);
  const made = times.map(() => versions.next(''));
  expect(made).toEqual([...new Set(made)].toSorted());
});

test.each([
  ['01M7EY6RV4XGCAW41JMB7D644V', '01M7EY6RV4XGCAW41JMB7D644W'],
  ['01M7EY6RV4XGCAW41JMB7D644Z', '01M7EY6RV4XGCAW41JMB7D6450'],
  ['01M7EY6RV4ZZZZZZZZZZZZZZZZ', '01M7EY6RV50000000000000000'],
  ['7ZZZZZZZZZZZZZZZZZZZZZZZZY', '7ZZZZZZZZZZZZZZZZZZZZZZZZZ'],
])('after %s by a clock that is behind comes %s', (floor, next) => {
  expect(createFrameVersions(() => 1).next(floor)).toBe(next);
});
