/** Returns a client's text in double quotes, escaped, and truncated to 80 characters. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}

/** Returns a count and its noun: `1 row`, `2 rows`. */
export function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}

/**
 * Returns the candidate closest to a mistyped name, or undefined if none is close. The keys of `candidates` are the
 * spellings to compare with, the values the names to suggest.
 */
export function nearestName(typed: string, candidates: ReadonlyMap<string, string>): string | undefined {
  const word = typed.toLowerCase();
  const exact = candidates.get(typed);
  // The comparison costs the product of the lengths, and no name is this long.
  if (exact !== undefined || word.length > 100) return exact;
  let nearest: string | undefined;
  let nearestDistance = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const [spelling, name] of candidates) {
    const distance = editDistance(word, spelling.toLowerCase());
    if (distance < nearestDistance) {
      nearest = name;
      nearestDistance = distance;
    }
  }
  return nearest;
}

/** Returns the Damerau-Levenshtein distance (optimal string alignment). */
export function editDistance(left: string, right: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const isSame = left[row - 1] === right[column - 1];
      let cost = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (isSame ? 0 : 1));
      if (row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1]) {
        cost = Math.min(cost, at(beforeLast, column - 2) + 1);
      }
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, right.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
