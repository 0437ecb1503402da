import { nearestName } from '@svc/errors';

/** Returns a hint with the name closest to a mistyped one, written by `write`; `other` if none is close. */
export function nearestHint(
  typed: string,
  names: readonly string[],
  write: (name: string) => string,
  other: string,
): string {
  const nearest = nearestName(typed, new Map(names.map((name) => [name, name])));
  return nearest === undefined ? other : `Did you mean ${write(nearest)}?`;
}
