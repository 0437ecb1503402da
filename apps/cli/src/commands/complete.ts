import { readdir } from 'node:fs/promises';
import { parseFlags } from '@svc/config';
import { flagsOf, HELP_TOPICS } from '../args/arguments.ts';
import { TLS_OPTIONS } from '../args/client-options.ts';
import type { Arguments, Command, Context, Program } from '../args/command.ts';
import { INPUT_FORMATS, readInputName } from '../args/formats.ts';
import { DASH } from '../args/source.ts';
import { type Client, withTimeout } from '../client/client.ts';
import { listFrames } from '../client/requests.ts';
import { COMMANDS } from './commands.ts';
import { withClient } from '../frames/with-client.ts';
import { formatCount } from '../text.ts';

/** The command of the completion scripts, followed by the words of the line up to the cursor. */
export const COMPLETE = '__complete';

/** The candidates at the cursor. */
export type Completion =
  | { readonly kind: 'files' }
  | { readonly kind: 'words'; readonly words: readonly (readonly [word: string, summary?: string])[] };

/** The longest acceptable wait for a Tab. */
const TIMEOUT_MS = 1000;
const HANDLE = /^[A-Za-z\d][\w.-]*$/;
const FILE = /^\w[\w.-]*$/;
const NOTHING: Completion = { kind: 'words', words: [] };

/** Completes the last word of a line. Requests handles from the server; never fails. */
export async function complete(line: readonly string[], context: Context): Promise<Completion> {
  const last = line.at(-1) ?? '';
  const found = await candidates(line.slice(0, -1), last, context);
  if (found.kind === 'files') return found;
  return words(found.words.filter(([word]) => word.startsWith(last)));
}

/** Formats the text for the scripts: a line with the kind, then a line for each word and its summary. */
export function formatCompletion(completion: Completion): string {
  const lines = completion.kind === 'files' ? [] : completion.words.map((word) => word.join('\t'));
  return `${[completion.kind, ...lines].join('\n')}\n`;
}

async function candidates(before: readonly string[], last: string, context: Context): Promise<Completion> {
  const [name, ...behind] = before;
  const commands = COMMANDS.map((command) => [command.name, command.summary] as const);
  if (name === undefined) {
    return words([...commands, ['help', 'Describe a command or a topic.'], ['--help'], ['--version']]);
  }
  if (name === 'help') return behind.length === 0 ? words([...commands, ...HELP_TOPICS]) : NOTHING;
  const command = COMMANDS.find((one) => one.name === name);
  if (command === undefined) return NOTHING;
  const { positionals, pending, values, isOver } = readLine(command, behind);
  const { takesDirectory = () => false } = command;
  const directory = positionals.length > 0 && takesDirectory([...positionals, last]) ? positionals[0] : undefined;
  const place: Place = { values, directory };
  if (pending !== undefined) return completePlaceholder(pending, place, last, context);
  if (positionals.length === 0 && takesDirectory([last, ''])) return { kind: 'files' };
  if (last.startsWith('-') && !isOver) {
    const options = Object.entries(command.options).map(([flag, { summary }]) => [`--${flag}`, summary] as const);
    return words([...options, ['--help', 'Print the help.']]);
  }
  const index = positionals.length - (directory === undefined ? 0 : 1);
  const usage = command.usage[index] ?? command.usage.findLast((word) => word.endsWith('...'));
  return usage === undefined ? NOTHING : completePlaceholder(usage, place, last, context);
}

/** Reads a line: its arguments, the values of its flags, and the placeholder of the flag whose value comes next. */
function readLine(command: Command | Program, line: readonly string[]) {
  const tokens = parseFlags(line, flagsOf(command));
  const last = tokens.at(-1);
  return {
    positionals: tokens.flatMap((token) => (token.kind === 'argument' ? [token.value] : [])),
    pending: last?.kind === 'missing_value' ? command.options[last.name]?.value : undefined,
    values: new Map(tokens.flatMap((token) => (token.kind === 'value' ? [[token.name, token.value]] : []))),
    isOver: tokens.some(({ kind }) => kind === 'terminator'),
  };
}

const FORMAT = '<format>';
const FILES = new Set(['<file>', '<file|->', '<new|->', '<directory>']);
const HANDLES = new Set(['<handle>', '<handle>...', '[prefix]']);
/** A handle, or a file with its name. */
const HANDLE_OR_FILE = '[handle]';

/** Where the frames are. */
interface Place {
  /** The values of the flags of the line. */
  readonly values: ReadonlyMap<string, string>;
  readonly directory: string | undefined;
}

/** Completes a placeholder of the help. */
async function completePlaceholder(
  placeholder: string,
  place: Place,
  last: string,
  context: Context,
): Promise<Completion> {
  if (FILES.has(placeholder)) return { kind: 'files' };
  if (placeholder === FORMAT) return words(INPUT_FORMATS.map((format) => [format]));
  if (HANDLES.has(placeholder)) return words(await handlesOf(place, last, context));
  if (placeholder === HANDLE_OR_FILE) {
    const found = [...(await inputFiles(last)), ...(await handlesOf(place, last, context))];
    return found.length === 0 ? { kind: 'files' } : words(found);
  }
  const choices = placeholder.replaceAll(/[<>[\]]/g, '').split('|');
  return choices.length > 1 && !choices.includes(DASH) ? words(choices.map((choice) => [choice])) : NOTHING;
}

/** The files of the current directory for `svc put`, if their names need no quotes. */
async function inputFiles(prefix: string): Promise<readonly (readonly [string, string])[]> {
  const names = await readdir('.').catch((): readonly string[] => []);
  return names
    .filter((name) => name.startsWith(prefix) && FILE.test(name) && readInputName(name).format !== undefined)
    .toSorted()
    .map((name) => [name, 'file']);
}

async function handlesOf(
  place: Place,
  prefix: string,
  context: Context,
): Promise<readonly (readonly [string, string])[]> {
  const signal = withTimeout(context.signal, TIMEOUT_MS);
  const found: (readonly [string, string])[] = [];
  try {
    await withPlace(place, { ...context, signal }, async (client) => {
      for await (const firstPage of listFrames(client, prefix)) {
        // The shell inserts this text: only valid handles are safe.
        const frames = firstPage.filter(({ handle }) => HANDLE.test(handle));
        for (const { handle, rows, columns } of frames) {
          const isKnown = rows !== null && columns !== null;
          const summary = isKnown ? `${formatCount(rows, 'row')}, ${formatCount(columns.length, 'column')}` : '';
          found.push([handle, summary]);
        }
        break;
      }
    });
  } catch {
    // A completion has no place to show an error.
  }
  return found;
}

/** The flags for the place of the frames, and how to reach them. */
const PLACE_FLAGS: ReadonlySet<string> = new Set(['url', 'tenant', 'token-file', ...Object.keys(TLS_OPTIONS)]);

function withPlace(
  { values, directory }: Place,
  context: Context,
  run: (client: Client) => Promise<void>,
): Promise<void> {
  const args: Arguments = {
    positionals: [],
    directory,
    // The shell has not expanded the words of the line.
    text: (name) => (PLACE_FLAGS.has(name) ? values.get(name)?.replace(/^~(?=\/)/, () => context.homeDir) : undefined),
    texts: () => [],
    has: () => false,
  };
  return withClient(args, context, {}, run);
}

function words(all: readonly (readonly [word: string, summary?: string])[]): Completion {
  return { kind: 'words', words: all };
}
