/** A name as SQL compares it: only letters of ASCII have a case there. A Kelvin sign, for one, is no k. */
export function foldedName(name: string): string {
  return name.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** A name without what SQL cannot have in one: an empty text, or a zero. */
function nameForSql(name: string): string {
  return name.replaceAll('\0', '\uFFFD') || 'column';
}

/** Which names, by their places in a list, are the same to SQL; under the folded name. */
export function sharedNames(names: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>();
  names.forEach((name, i) => {
    const key = foldedName(nameForSql(name));
    places.set(key, [...(places.get(key) ?? []), i]);
  });
  return new Map([...places].filter(([, same]) => same.length > 1));
}

/**
 * What columns, or the fields of a struct, are called in SQL. Of names that differ only by case every one gets a number,
 * from 0 on, so that the name they share means none of them; all others stay as they are.
 */
export function sqlNames(names: readonly string[]): string[] {
  const shared = sharedNames(names);
  const bases = names.map(nameForSql);
  if (shared.size === 0) return bases;
  const taken = new Set(bases.map(foldedName));
  const unique = [...bases];
  for (const places of shared.values()) {
    let number = 0;
    for (const place of places) {
      const base = bases[place] ?? '';
      while (taken.has(foldedName(`${base}_${number}`))) number += 1;
      unique[place] = `${base}_${number}`;
      taken.add(foldedName(`${base}_${number}`));
      number += 1;
    }
  }
  return unique;
}
