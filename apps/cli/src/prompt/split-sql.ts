/** SQL as it is typed, line by line. */
export interface SplitSql {
  /** What a semicolon ends, without it. */
  readonly statements: readonly string[];
  /** What no semicolon has ended yet. */
  readonly rest: string;
}

/**
 * A comment, a quoted text or name (one that does not end takes everything), a text in dollars, a semicolon, or anything
 * else up to the next of these.
 */
const PIECE =
  /--[^\n]*|\/\*[^]*?(?:\*\/|$)|'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|(\$\w*\$)[^]*?(?:\1|$)|;|[^-/'"$;]+|[^]/g;

/** Splits SQL at the semicolons that are neither quoted nor in a comment. */
export function splitSql(text: string): SplitSql {
  const statements: string[] = [];
  let start = 0;
  for (const { 0: piece, index } of text.matchAll(PIECE)) {
    if (piece !== ';') continue;
    statements.push(text.slice(start, index).trim());
    start = index + 1;
  }
  return { statements: statements.filter((sql) => !isBlank(sql)), rest: text.slice(start) };
}

/** Whether SQL has nothing in it but blanks and comments. */
export function isBlank(text: string): boolean {
  return [...text.matchAll(PIECE)].every(([piece]) => /^(?:--|\/\*)/.test(piece) || piece.trim() === '');
}

/** SQL on one line, without comments; undefined where that would be another statement. */
export function onOneLine(text: string): string | undefined {
  const pieces = [...text.matchAll(PIECE)].map(([piece]) => piece);
  if (pieces.some((piece) => /^['"$]/.test(piece) && piece.includes('\n'))) return undefined;
  return pieces
    .map((piece) => (/^(?:--|\/\*)/.test(piece) ? ' ' : piece))
    .map((piece) => (/^['"$]/.test(piece) ? piece : piece.replaceAll(/\s*\n\s*/g, ' ')))
    .join('')
    .trim();
}
