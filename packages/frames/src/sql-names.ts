// oxlint-disable-next-line no-control-regex
const ASCII = /^[\0-\x7f]*$/;

/** Folds a name as SQL compares it: only ASCII letters have a case. For example, the Kelvin sign is not a k. */
export function foldedName(name: string): string {
  // A callback for each letter would take long if there are thousands of names.
  if (ASCII.test(name)) return name.toLowerCase();
  return name.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Replaces what a SQL name cannot contain: it must not be empty or contain NUL. */
function nameForSql(name: string): string {
  return name.replaceAll('\0', '\uFFFD') || 'column';
}

/** Returns the names that are equal in SQL: their positions by folded name. */
export function sharedNames(names: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>();
  names.forEach((name, i) => {
    const key = foldedName(nameForSql(name));
    const same = places.get(key);
    if (same === undefined) places.set(key, [i]);
    else same.push(i);
  });
  return new Map([...places].filter(([, same]) => same.length > 1));
}

/**
 * Returns the SQL names of columns or struct fields. Names that differ only in case all get a number, from 0, so that
 * the shared name is not ambiguous; other names stay unchanged.
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
