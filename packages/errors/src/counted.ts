/** Returns a count and its noun: `1 row`, `2 rows`. */
export function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}
