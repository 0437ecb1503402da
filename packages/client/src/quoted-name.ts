/** Quotes an entry of a list if it has a character of the list. */
export function quotedName(name: string): string {
  return /^[^",]+$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}
