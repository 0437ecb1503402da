import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';

/** The escape character: after it, `%`, `_` and itself are literal. */
export const PATTERN_ESCAPE = '\\';

/** Longer than twice the longest name. */
const MAX_PATTERN_LENGTH = 1000;

/**
 * Returns a function that matches names against a pattern, with `%` for any text and `_` for any character. Without a
 * pattern, every name matches. Not a regular expression, because many `%` would backtrack exponentially.
 */
export function likePattern(pattern: string | undefined): (name: string) => boolean {
  if (pattern === undefined) return () => true;
  if (pattern.length > MAX_PATTERN_LENGTH) {
    throw new ServiceError(
      'invalid_argument',
      `The pattern ${quoted(pattern)} is longer than ${MAX_PATTERN_LENGTH} characters.`,
      { hint: 'Shorten it: % stands for any text.' },
    );
  }
  const parts = partsOf(pattern);
  return (name) => isLike(parts, Array.from(name));
}

const ANY_TEXT = Symbol('any text');
const ANY_CHARACTER = Symbol('any character');
type Part = string | typeof ANY_TEXT | typeof ANY_CHARACTER;

function partsOf(pattern: string): readonly Part[] {
  const parts: Part[] = [];
  let isEscaped = false;
  for (const character of pattern) {
    if (isEscaped) parts.push(character);
    else if (character === '%') parts.push(ANY_TEXT);
    else if (character === '_') parts.push(ANY_CHARACTER);
    else if (character !== PATTERN_ESCAPE) parts.push(character);
    isEscaped = !isEscaped && character === PATTERN_ESCAPE;
  }
  return parts;
}

/** Matches greedily: on a mismatch, only the last `%` has to take one more character. */
function isLike(parts: readonly Part[], name: readonly string[]): boolean {
  let part = 0;
  let at = 0;
  let afterAny = -1;
  let anyEnd = 0;
  while (at < name.length) {
    if (parts[part] === ANY_TEXT) {
      afterAny = ++part;
      anyEnd = at;
    } else if (parts[part] === ANY_CHARACTER || parts[part] === name[at]) {
      part++;
      at++;
    } else if (afterAny >= 0) {
      part = afterAny;
      at = ++anyEnd;
    } else {
      return false;
    }
  }
  while (parts[part] === ANY_TEXT) part++;
  return part === parts.length;
}
