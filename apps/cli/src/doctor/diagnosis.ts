import { CliError } from '../errors/cli-error.ts';

/** What one check found. */
export interface Diagnosis {
  readonly status: 'ok' | 'warning' | 'problem';
  /** What is so, in a sentence. */
  readonly text: string;
  /** What to do about it, in a sentence. */
  readonly advice?: string | undefined;
}

/** How long a check waits for somebody else to answer. */
export const TIMEOUT_MS = 3000;

/** A failed request of a check. */
export function failedCheck(status: 'warning' | 'problem', error: unknown): Diagnosis {
  if (!(error instanceof CliError)) throw error;
  return { status, text: error.message, advice: error.hint };
}
