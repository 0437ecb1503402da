import { readFileSync } from 'node:fs';
import * as v from 'valibot';
import { nearestName } from '@svc/errors';
import { formatCommandHelp, formatOverview, formatTopic, HELP_TOPICS, parseArguments } from './args/arguments.ts';
import type { Command, Context, Program } from './args/command.ts';
import { COMMANDS } from './commands/commands.ts';
import { complete, COMPLETE, formatCompletion } from './commands/complete.ts';
import { CliError, EXIT, InterruptedError, OutputClosedError } from './errors.ts';
import { printError } from './output/output.ts';

/** Runs the command line; resolves to the exit code. */
export async function runCli(argv: readonly string[], context: Context): Promise<number> {
  try {
    const [word, ...rest] = argv;
    const command = COMMANDS.find(({ name }) => name === word);
    const running = command === undefined ? runWithoutCommand(word, rest, context) : runCommand(command, rest, context);
    return await Promise.race([running, aborted(context.signal)]);
  } catch (thrown) {
    const error: unknown = context.signal.aborted ? context.signal.reason : thrown;
    if (error instanceof InterruptedError) return error.exitCode;
    if (error instanceof OutputClosedError) return EXIT.ok;
    if (!(error instanceof CliError)) throw error;
    await printError(error, context.stderr);
    return error.exitCode;
  }
}

async function runCommand(command: Command | Program, argv: readonly string[], context: Context): Promise<number> {
  if (command.kind === 'program' && !asksForHelp(argv)) return command.run(argv, context);
  const args = command.kind === 'command' ? parseArguments(command, argv) : undefined;
  if (command.kind === 'command' && args !== undefined) return (await command.run(args, context)) ?? EXIT.ok;
  await context.stdout.write(formatCommandHelp(command));
  return EXIT.ok;
}

/** True if the arguments of a program ask for its help; it parses all others itself. */
function asksForHelp(argv: readonly string[]): boolean {
  return argv.includes('--help') || argv.includes('-h');
}

async function runWithoutCommand(word: string | undefined, rest: readonly string[], context: Context): Promise<number> {
  const { stdout, stderr } = context;
  switch (word) {
    case COMPLETE:
      await stdout.write(formatCompletion(await complete(rest, context)));
      return EXIT.ok;
    case 'help':
      await stdout.write(helpAbout(rest));
      return EXIT.ok;
    case '--help':
    case '-h':
      await stdout.write(formatOverview(COMMANDS));
      return EXIT.ok;
    case '--version':
    case '-V':
      await stdout.write(`${context.version}\n`);
      return EXIT.ok;
    case undefined:
      await stderr.write(formatOverview(COMMANDS));
      return EXIT.usage;
    default:
      throw unknownWord(word);
  }
}

function helpAbout([topic, extra]: readonly string[]): string {
  if (topic === undefined || topic.startsWith('-')) return formatOverview(COMMANDS);
  const command = COMMANDS.find(({ name }) => name === topic);
  const text = command === undefined ? formatTopic(topic) : formatCommandHelp(command);
  if (text !== undefined && extra === undefined) return text;
  const names = [...COMMANDS.map(({ name }) => name), ...HELP_TOPICS.map(([name]) => name)];
  const nearest = text === undefined ? nearestName(topic, new Map(names.map((name) => [name, name]))) : topic;
  throw new CliError('usage', `There is no help on ${JSON.stringify([topic, extra].filter(Boolean).join(' '))}.`, {
    hint: nearest === undefined ? 'svc --help lists the commands and topics.' : `Did you mean svc help ${nearest}?`,
  });
}

function unknownWord(word: string): CliError {
  const isFlag = word.startsWith('-');
  const names = isFlag ? ['--help', '--version'] : [...COMMANDS.map(({ name }) => name), 'help'];
  const nearest = nearestName(word, new Map(names.map((name) => [name, name])));
  if (nearest === undefined && isFlag) {
    return new CliError('usage', `svc itself has no flag ${JSON.stringify(word)}.`, {
      hint: 'Put the flags of a command after its name; svc --help lists the commands.',
    });
  }
  return new CliError('usage', `svc has no ${isFlag ? 'flag' : 'command'} ${JSON.stringify(word)}.`, {
    hint: nearest === undefined ? 'svc --help lists the commands.' : `Did you mean svc ${nearest}?`,
  });
}

/** Rejects as soon as the process should end, even if a read or write is pending. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

const MANIFEST = v.object({ version: v.string() });

/** Reads the version of `svc` from its manifest. */
export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return v.parse(MANIFEST, manifest).version;
}
