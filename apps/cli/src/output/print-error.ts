import type { CliError } from '../errors/cli-error.ts';
import { visibleText } from '../text/display-text.ts';
import type { Output } from './output.ts';

/** Prints an error: the message, its details, and the hint. */
export async function printError({ message, details, hint }: CliError, stderr: Output): Promise<void> {
  const lines = [`error: ${visibleText(message)}`, ...details.map(visibleText)];
  if (hint !== undefined) lines.push(`hint: ${visibleText(hint)}`);
  // If standard error is closed too, only the exit code can report the error.
  await stderr.write(`${lines.join('\n')}\n`).catch(() => {});
}
