/** The calendar repeats every 400 years, so that years beyond those of `Date` have a calendar, too. */
const CYCLE_MONTHS = 4800;
const CYCLE_DAYS = 146_097;
const DAY_MS = 86_400_000;
/** The cycle in which `Date` computes starts in the year 2000. */
const FIRST_MONTH = 24_000;
const FIRST_DAY = 10_957;

/** Returns the first day of a month, in days since 1970. Months are counted from January of the year 0. */
export function dayOfMonth(month: number): number {
  const cycles = Math.floor((month - FIRST_MONTH) / CYCLE_MONTHS);
  const near = month - cycles * CYCLE_MONTHS;
  return Date.UTC(Math.floor(near / 12), near % 12, 1) / DAY_MS + cycles * CYCLE_DAYS;
}

/** Returns the month of a day since 1970, counted from January of the year 0. */
export function monthOfDay(day: number): number {
  const cycles = Math.floor((day - FIRST_DAY) / CYCLE_DAYS);
  const date = new Date((day - cycles * CYCLE_DAYS) * DAY_MS);
  return date.getUTCFullYear() * 12 + date.getUTCMonth() + cycles * CYCLE_MONTHS;
}
