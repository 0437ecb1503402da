import { CliError } from '../errors/cli-error.ts';

/** The result of one check. */
export interface Diagnosis {
  readonly status: 'ok' | 'warning' | 'problem';
  /** The finding, in a sentence. */
  readonly text: string;
  /** The advice, in a sentence. */
  readonly advice?: string | undefined;
}

/** How long a check waits for another process. */
export const TIMEOUT_MS = 3000;

/** Converts a failed request to a diagnosis. */
export function failedCheck(status: 'warning' | 'problem', error: unknown): Diagnosis {
  if (!(error instanceof CliError)) throw error;
  return { status, text: error.message, advice: error.hint };
}
