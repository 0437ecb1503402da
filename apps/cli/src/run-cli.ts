import { readFileSync } from 'node:fs';
import { nearestName } from '@svc/config';
import { parseArguments } from './arguments.ts';
import { CliError, EXIT, OutputClosedError } from './cli-error.ts';
import type { Command, Context } from './command.ts';
import { COMMANDS } from './commands.ts';
import { visibleText } from './display-text.ts';
import { formatCommandHelp, formatOverview } from './help.ts';
import type { Output } from './output.ts';

/** Does what the command line says; resolves to the exit code. */
export async function runCli(argv: readonly string[], context: Context): Promise<number> {
  try {
    const [word, ...rest] = argv;
    const command = COMMANDS.find(({ name }) => name === word);
    if (command === undefined) return await runWithoutCommand(word, context);
    if (command.kind === 'program') return await command.run(rest);
    return await Promise.race([runCommand(command, rest, context), interrupted(context.signal)]);
  } catch (error) {
    if (context.signal.aborted) return EXIT.interrupted;
    if (error instanceof OutputClosedError) return EXIT.ok;
    if (!(error instanceof CliError)) throw error;
    await printError(error, context.stderr);
    return error.exitCode;
  }
}

async function runCommand(command: Command, argv: readonly string[], context: Context): Promise<number> {
  const args = parseArguments(command, argv);
  if (args === undefined) await context.stdout.write(formatCommandHelp(command));
  else await command.run(args, context);
  return EXIT.ok;
}

async function runWithoutCommand(word: string | undefined, { stdout, stderr }: Context): Promise<number> {
  switch (word) {
    case '--help':
    case '-h':
      await stdout.write(formatOverview(COMMANDS));
      return EXIT.ok;
    case '--version':
    case '-V':
      await stdout.write(`${packageVersion()}\n`);
      return EXIT.ok;
    case undefined:
      await stderr.write(formatOverview(COMMANDS));
      return EXIT.usage;
    default:
      throw unknownWord(word);
  }
}

function unknownWord(word: string): CliError {
  const isFlag = word.startsWith('-');
  const names = isFlag ? ['--help', '--version'] : COMMANDS.map(({ name }) => name);
  const nearest = nearestName(word, new Map(names.map((name) => [name, name])));
  if (nearest === undefined && isFlag) {
    return new CliError('usage', `svc itself has no flag ${JSON.stringify(word)}.`, {
      hint: 'The flags of a command go behind its name; svc --help lists the commands.',
    });
  }
  return new CliError('usage', `svc has no ${isFlag ? 'flag' : 'command'} ${JSON.stringify(word)}.`, {
    hint: nearest === undefined ? 'svc --help lists the commands.' : `Did you mean svc ${nearest}?`,
  });
}

/** Resolves at once when the user interrupts, whatever a write or a read is still waiting for. */
function interrupted(signal: AbortSignal): Promise<number> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(EXIT.interrupted);
    signal.addEventListener('abort', () => resolve(EXIT.interrupted), { once: true });
  });
}

async function printError({ message, details, hint }: CliError, stderr: Output): Promise<void> {
  const lines = [`error: ${visibleText(message)}`, ...details.map(visibleText)];
  if (hint !== undefined) lines.push(`hint: ${visibleText(hint)}`);
  // Nobody is left to be told when the place for errors is closed too; the exit code still says it.
  await stderr.write(`${lines.join('\n')}\n`).catch(() => {});
}

function packageVersion(): string {
  const file: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return typeof file === 'object' && file !== null && 'version' in file ? String(file.version) : 'unknown';
}
