/** A name without need of quotes. */
const PLAIN_NAME = /^[a-z_][a-z0-9_]*$/;

/** Returns a name as SQL writes it: in quotes unless it is plainly a name. */
export function quoteName(name: string): string {
  return PLAIN_NAME.test(name) && !RESERVED.has(name) ? name : quotedName(name);
}

/** Returns a name in quotes. */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Returns a text as a literal of SQL. */
export function quotedText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Returns a name as SQL compares it: without the case of ASCII letters. */
export function foldedName(name: string): string {
  return name.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** The reserved words of DuckDB and Spark, and the first words of statements. */
const RESERVED = new Set(
  `all analyse analyze and any array as asc asymmetric between both by case cast check collate column constraint create cross
  default deferrable delete desc describe distinct do drop else end except exists explain false fetch for foreign from full
  grant group having in initially inner insert intersect into is join lambda lateral leading left like limit natural not null
  offset on only or order outer pivot placing primary qualify references returning right select set show some summarize
  symmetric table then to trailing true union unique unpivot update using values variadic when where window with`.split(
    /\s+/,
  ),
);
