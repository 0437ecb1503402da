const [QUOTE, SPACE] = [34, 32];

/** Follows the quotes of a CSV line. They count in a value that begins with one, spaces apart: in `5" pipe` it is a text. */
export interface CsvQuotes {
  /** Whether the last character was inside of quotes. */
  readonly isQuoted: boolean;
  /** Takes the next character, by its code; true if it is a quote that counts or is inside of quotes. */
  takes(code: number | undefined): boolean;
  /** The last character was a delimiter. */
  nextValue(): void;
}

/** At the start of a line. */
export function createCsvQuotes(): CsvQuotes {
  let isStart = true;
  let hasQuotes = false;
  let isQuoted = false;
  return {
    get isQuoted() {
      return isQuoted;
    },
    takes(code) {
      hasQuotes ||= isStart && code === QUOTE;
      isStart &&= code === SPACE;
      if (code !== QUOTE || !hasQuotes) return isQuoted;
      isQuoted = !isQuoted;
      return true;
    },
    nextValue() {
      isStart = true;
      hasQuotes = false;
    },
  };
}
