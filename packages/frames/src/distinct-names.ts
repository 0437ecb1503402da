/** Engines name a column after its expression, however long. Truncated names leave room for a number. */
const MAX_NAME_LENGTH = 1000;

/** Makes the column names of a query result unique: repeated ones get a number. */
export function distinctNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  const numbers = new Map<string, number>();
  return names.map((whole) => {
    const name = whole.slice(0, MAX_NAME_LENGTH);
    let number = numbers.get(name) ?? 0;
    while (taken.has(number === 0 ? name : `${name}_${number}`)) number += 1;
    numbers.set(name, number);
    const distinct = number === 0 ? name : `${name}_${number}`;
    taken.add(distinct);
    return distinct;
  });
}
