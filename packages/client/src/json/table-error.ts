/** The bytes of an answer are not a JSON table. */
export class TableError extends Error {
  override readonly name = 'TableError';
  /** What is wrong, to put into a sentence. */
  readonly detail: string;

  constructor(detail: string) {
    super(`The answer is not a JSON table: ${detail}.`);
    this.detail = detail;
  }
}

/** Quotes a text of an answer, of which only the beginning if it is long. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
