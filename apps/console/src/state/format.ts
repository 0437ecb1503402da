const SPACE = '\u202f';

/** Returns a whole number with its digits in groups of three: `1 000 000`. */
export function formatCount(value: number): string {
  return String(value).replaceAll(/\B(?=(\d{3})+(?!\d))/g, SPACE);
}

/** Returns a count with its noun: `1 row`, `2 rows`. */
export function countOf(value: number, noun: string): string {
  return `${formatCount(value)} ${noun}${value === 1 ? '' : 's'}`;
}

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** Returns a number of bytes with two or three digits: `9.2 MB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < BYTE_UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit > 0 && value < 9.95 ? value.toFixed(1) : Math.round(value)}${SPACE}${BYTE_UNITS[unit] ?? ''}`;
}

/** Returns a time span as people say it: `0.12 s`, `3.4 s`, `2 min 5 s`, `3 h 12 min`. */
export function formatSpan(ms: number): string {
  if (ms < 10_000) return `${(ms / 1000).toFixed(ms < 1000 ? 2 : 1)}${SPACE}s`;
  const s = Math.round(ms / 1000);
  if (s < 60) return `${s}${SPACE}s`;
  return coarse(s, [
    ['d', 86_400],
    ['h', 3600],
    ['min', 60],
    ['s', 1],
  ]);
}

/** Returns the two largest units of a span, without zeros. */
function coarse(seconds: number, units: readonly (readonly [string, number])[]): string {
  const first = units.findIndex(([, size]) => seconds >= size);
  let rest = seconds;
  return units
    .slice(first, first + 2)
    .flatMap(([name, size]) => {
      const count = Math.floor(rest / size);
      rest -= count * size;
      return count === 0 ? [] : [`${count}${SPACE}${name}`];
    })
    .join(' ');
}

/** Returns the time until an expiry; undefined without one. */
export function timeLeft(expires: string | null, nowMs: number): string | undefined {
  if (expires === null) return undefined;
  const leftMs = Date.parse(expires) - nowMs;
  return leftMs <= 0 ? 'expired' : formatSpan(Math.max(leftMs, 1000)).replace(/\.\d+/, '');
}
