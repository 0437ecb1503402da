import { describe, expect, test } from 'vitest';
import { contentFromScroll, MAX_SCROLL_PX, scrollFromContent, spacerPx } from './scroll-map.ts';

const VIEW_PX = 900;

describe.each([10, 1000, 600_000, 700_000, 100_000_000, 1_000_000_000])('%i rows', (rows) => {
  test.each([24, 48])('of %i px: both ends are reached, and both directions are the reverse of each other', (rowPx) => {
    const sizes = { contentPx: rows * rowPx, viewPx: VIEW_PX };
    const most = Math.max(0, sizes.contentPx - VIEW_PX);
    const bar = Math.max(0, spacerPx(sizes) - VIEW_PX);
    expect(spacerPx(sizes)).toBeLessThanOrEqual(MAX_SCROLL_PX);
    expect([contentFromScroll(0, sizes), contentFromScroll(bar, sizes)]).toEqual([0, most]);
    expect([scrollFromContent(0, sizes), scrollFromContent(most, sizes)]).toEqual([0, bar]);
    for (const share of [0, 0.001, 0.01, 0.3, 0.5, 0.9, 0.999, 1]) {
      const content = share * most;
      expect(contentFromScroll(scrollFromContent(content, sizes), sizes)).toBeCloseTo(content, 3);
    }
  });
});

test('the first and the last rows move by the pixels of the scroll bar', () => {
  const sizes = { contentPx: 24e8, viewPx: VIEW_PX };
  const bar = MAX_SCROLL_PX - VIEW_PX;
  expect(contentFromScroll(5024, sizes) - contentFromScroll(5000, sizes)).toBe(24);
  expect(contentFromScroll(bar - 100, sizes) - contentFromScroll(bar - 124, sizes)).toBe(24);
});
