/** Typed SQL, split into statements. */
export interface SplitSql {
  /** Complete statements, without the semicolon. */
  readonly statements: readonly string[];
  /** The text after the last semicolon. */
  readonly rest: string;
}

/**
 * A comment, a quoted string or name (an unterminated one takes the rest), a dollar-quoted string, a semicolon, or any
 * other text up to the next of these.
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

/** Whether the SQL is only white space and comments. */
export function isBlank(text: string): boolean {
  return [...text.matchAll(PIECE)].every(([piece]) => /^(?:--|\/\*)/.test(piece) || piece.trim() === '');
}

/** Joins SQL into one line, without comments; undefined if that would change the statement. */
export function onOneLine(text: string): string | undefined {
  const pieces = [...text.matchAll(PIECE)].map(([piece]) => piece);
  if (pieces.some((piece) => /^['"$]/.test(piece) && piece.includes('\n'))) return undefined;
  return pieces
    .map((piece) => (/^(?:--|\/\*)/.test(piece) ? ' ' : piece))
    .map((piece) => (/^['"$]/.test(piece) ? piece : piece.replaceAll(/\s*\n\s*/g, ' ')))
    .join('')
    .trim();
}
