import type { CliError } from '../errors/cli-error.ts';
import { visibleText } from '../text/display-text.ts';
import type { Output } from './output.ts';

/** Prints an error: the sentence, its details, and the hint. */
export async function printError({ message, details, hint }: CliError, stderr: Output): Promise<void> {
  const lines = [`error: ${visibleText(message)}`, ...details.map(visibleText)];
  if (hint !== undefined) lines.push(`hint: ${visibleText(hint)}`);
  // Nobody is left to be told when the place for errors is closed too; the exit code still says it.
  await stderr.write(`${lines.join('\n')}\n`).catch(() => {});
}
