import { readFileSync, statSync } from 'node:fs';
import { CliError } from '../errors/cli-error.ts';
import { errorCode } from '../errors/error-code.ts';

/** A file that a flag names. */
export interface SmallFile {
  readonly path: string;
  /** The start of an error: `The token file "a.txt"`. */
  readonly title: string;
  readonly maxBytes: number;
  readonly hint: string;
}

/** Reads a text file of limited size. Errors do not quote its text, which may be a secret. */
export function readSmallFile({ path, title, maxBytes, hint }: SmallFile): string {
  try {
    if (statSync(path).size <= maxBytes) return readFileSync(path, 'utf8');
  } catch (error) {
    throw new CliError('usage', `${title} cannot be read: ${errorCode(error)}.`, { hint, cause: error });
  }
  throw new CliError('usage', `${title} has more than ${maxBytes} bytes.`, { hint });
}
