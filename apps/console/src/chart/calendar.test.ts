import { expect, test } from 'vitest';
import { dayOfMonth, monthOfDay } from './calendar.ts';

const DAY_MS = 86_400_000;

test.each([0, 1, 59, 60, 365, 10_956, 10_957, 11_016, 157_053, -1, -719_528, 2_932_896, 99_999_999, -99_999_999])(
  'the month of day %d is that of Date',
  (day) => {
    const date = new Date(day * DAY_MS);
    const month = monthOfDay(day);
    expect([Math.floor(month / 12), ((month % 12) + 12) % 12]).toEqual([date.getUTCFullYear(), date.getUTCMonth()]);
    expect(dayOfMonth(month)).toBe(day - date.getUTCDate() + 1);
  },
);

test.each([
  [294_247 * 12, '+294247-01'],
  [-290_308 * 12 + 11, '-290308-12'],
])('the month %d starts with its first day, and the day before is of the month before', (month) => {
  expect(monthOfDay(dayOfMonth(month))).toBe(month);
  expect(monthOfDay(dayOfMonth(month) - 1)).toBe(month - 1);
});
