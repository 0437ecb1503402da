/** Work whose result is kept. */
export interface Remembered<Args extends readonly unknown[], T> {
  /** Returns the result. All callers share one run, which starts with the arguments of the first. */
  get(...args: Args): Promise<T>;
  /** Runs the work again next time. */
  forget(): void;
}

/** Remembers the result of work that is done once; work that fails is done again next time. */
export function rememberSuccess<Args extends readonly unknown[], T>(
  run: (...args: Args) => Promise<T>,
): Remembered<Args, T> {
  let remembered: Promise<T> | undefined;

  function forget(): void {
    remembered = undefined;
  }

  return {
    async get(...args) {
      remembered ??= run(...args).catch((error: unknown) => {
        forget();
        throw error;
      });
      return remembered;
    },
    forget,
  };
}
