/** What a token is. A hint is one token, with everything in it. */
export type TokenKind = 'name' | 'quoted' | 'string' | 'number' | 'parameter' | 'symbol' | 'hint';

/** A part of a statement. Blanks and comments are no tokens. */
export interface Token {
  readonly kind: TokenKind;
  /** A quoted name without its quotes; any other token as it is written. */
  readonly text: string;
  /** A name, quoted or not, in lower case; otherwise empty. */
  readonly word: string;
  /** Where it starts in the statement, in UTF-16 code units. */
  readonly start: number;
}

/** Folds a name. Only ASCII letters have a case here: engines disagree about the others. */
export function folded(name: string): string {
  return name.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Whether a token is this symbol. */
export function isSymbol(token: Token | undefined, text: string): boolean {
  return token?.kind === 'symbol' && token.text === text;
}

/** Whether a token is this word, without quotes. */
export function isWord(token: Token | undefined, word: string): boolean {
  return token?.kind === 'name' && token.word === word;
}

/** Whether a token names something, with or without quotes. */
export function isName(token: Token | undefined): token is Token & { readonly kind: 'name' | 'quoted' } {
  return token?.kind === 'name' || token?.kind === 'quoted';
}

/** Splits a text into words. */
export function wordsIn(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}
