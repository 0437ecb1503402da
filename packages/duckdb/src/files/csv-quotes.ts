const [QUOTE, SPACE] = [34, 32];

/** Tracks the quotes of a CSV line. Only a value that starts with a quote, after spaces, is quoted: `5" pipe` is not. */
export interface CsvQuotes {
  /** Whether the last character was inside quotes. */
  readonly isQuoted: boolean;
  /** Takes the code of the next character. Returns true for a quote of a quoted value, and for any character inside. */
  takes(code: number | undefined): boolean;
  /** Call this after a delimiter. */
  nextValue(): void;
}

/** Creates a tracker at the start of a line. */
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
