import { distance, lengthPart, type Range, shifted } from './axis.ts';

/** How the user moves over a chart. */
export type Move = 'in' | 'out' | 'left' | 'right' | 'all';

/** The keys of a chart. */
export const MOVE_KEYS: Readonly<Record<string, Move>> = {
  '+': 'in',
  '=': 'in',
  '-': 'out',
  _: 'out',
  ArrowLeft: 'left',
  ArrowRight: 'right',
  '0': 'all',
  Home: 'all',
};

/** Returns the range after a move; undefined if everything is shown. It stays within the extent. */
export function moved(range: Range, extent: Range, move: Move): Range | undefined {
  if (move === 'all') return undefined;
  const [quarter, half] = [lengthPart(range, 1 / 4), lengthPart(range, 1 / 2)];
  if (move === 'in') return narrowed(range, { lo: shifted(range.lo, quarter), hi: shifted(range.hi, -quarter) });
  if (move === 'out') return within({ lo: shifted(range.lo, -half), hi: shifted(range.hi, half) }, extent);
  const step = move === 'left' ? -quarter : quarter;
  const room = move === 'left' ? distance(range.lo, extent.lo) : distance(range.hi, extent.hi);
  const by = move === 'left' ? Math.max(step, Math.min(0, room)) : Math.min(step, Math.max(0, room));
  return within({ lo: shifted(range.lo, by), hi: shifted(range.hi, by) }, extent);
}

/** Returns the part of a range that exists; undefined if that is all. */
export function within({ lo, hi }: Range, extent: Range): Range | undefined {
  const range = { lo: lo < extent.lo ? extent.lo : lo, hi: hi > extent.hi ? extent.hi : hi };
  return range.lo === extent.lo && range.hi === extent.hi ? undefined : range;
}

/** Returns the narrower range unless there is nothing between its ends. */
export function narrowed(range: Range, narrower: Range): Range {
  return narrower.lo < narrower.hi && distance(narrower.lo, narrower.hi) > 0 ? narrower : range;
}
