/** The units of timestamps in line protocol, with the seconds or the power of 1000 that a unit is in nanoseconds. */
export const LINE_PRECISIONS = {
  ns: { factor: 1, thousands: 0 },
  n: { factor: 1, thousands: 0 },
  us: { factor: 1, thousands: 1 },
  u: { factor: 1, thousands: 1 },
  ms: { factor: 1, thousands: 2 },
  s: { factor: 1, thousands: 3 },
  m: { factor: 60, thousands: 3 },
  h: { factor: 3600, thousands: 3 },
} as const satisfies Record<string, UnitScale>;

/** The nanoseconds of a unit: `factor` × 1000 to the power of `thousands`. */
export interface UnitScale {
  readonly factor: number;
  readonly thousands: number;
}

/** The unit of the timestamps of a request. `n` is `ns`, `u` is `us`, `m` is a minute. */
export type LinePrecision = keyof typeof LINE_PRECISIONS;

/** Whether a text is the name of a unit. */
export function isLinePrecision(text: string): text is LinePrecision {
  return Object.hasOwn(LINE_PRECISIONS, text);
}
