/** The bytes of an answer are not a JSON table. */
export class TableError extends Error {
  override readonly name = 'TableError';
  /** What is wrong, to put into a sentence. */
  readonly detail: string;
  /** Whether a row is longer than what can be read. */
  readonly isTooLong: boolean;

  constructor(detail: string, isTooLong = false) {
    super(`The answer is not a JSON table: ${detail}.`);
    this.detail = detail;
    this.isTooLong = isTooLong;
  }
}

/** Quotes a text of an answer, of which only the beginning if it is long. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
