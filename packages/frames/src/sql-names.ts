import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';

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

/** Returns the length of a text in characters, in which positions in SQL count. */
export function charactersIn(text: string): number {
  let pairs = 0;
  for (let i = 1; i < text.length; i += 1) if (isLow(text.charCodeAt(i)) && isHigh(text.charCodeAt(i - 1))) pairs += 1;
  return text.length - pairs;
}

/** Converts a position in UTF-8 bytes to one in characters. */
export function charactersBefore(sql: string, bytes: number): number {
  return charactersIn(Buffer.from(sql).subarray(0, bytes).toString());
}

/** The halves of a character that takes two code units. */
const isHigh = (unit: number): boolean => (unit & 0xfc00) === 0xd800;
const isLow = (unit: number): boolean => (unit & 0xfc00) === 0xdc00;

/** Longer SQL is refused. */
const MAX_SQL_LENGTH = 1024 * 1024;

/** Throws `invalid_sql` for a text no engine should see: one that is too long, or has a NUL, which ends it for some. */
export function checkSqlText(sql: string): void {
  if (sql.length > MAX_SQL_LENGTH) {
    throw new ServiceError('invalid_sql', `The SQL is longer than ${MAX_SQL_LENGTH} characters: ${quoted(sql)}.`);
  }
  const at = sql.indexOf('\0');
  if (at < 0) return;
  throw new ServiceError('invalid_sql', 'The SQL has a NUL character.', {
    position: charactersIn(sql.slice(0, at)),
  });
}
