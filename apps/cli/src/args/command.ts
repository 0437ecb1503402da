import type { Readable, Writable } from 'node:stream';
import type { Output } from '../output/output.ts';

/** The parsed arguments of a command. */
export interface Arguments {
  /** The arguments in their order. */
  readonly positionals: readonly string[];
  /** The directory of frames before them. */
  readonly directory: string | undefined;
  /** The value of a flag. */
  text(flag: string): string | undefined;
  /** All values of a repeatable flag. */
  texts(flag: string): readonly string[];
  /** True if a switch is given. */
  has(flag: string): boolean;
}

/** A flag of a command. */
export interface CommandOption {
  /** The placeholder of the value in the help: `<url>`. A flag without one is a switch. */
  readonly value?: string;
  /** The letter of its short form. */
  readonly short?: string;
  readonly summary: string;
  /** The flag may be given more than once. Default: no. */
  readonly isRepeatable?: boolean;
  /** The line of the help for this flag and others. Default: a line of its own. */
  readonly line?: readonly [flags: string, summary: string];
  /** Described by `svc help server`, and not in the help of each command. Default: no. */
  readonly isCommon?: boolean;
}

/** An interactive terminal. */
export interface Terminal {
  readonly input: Readable;
  readonly output: Writable;
}

/** The process of a command. */
export interface Context {
  /** The version of `svc`. */
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The user's home directory; empty if there is none. */
  readonly homeDir: string;
  readonly stdin: Readable;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Present if both standard input and standard output are a terminal. */
  readonly terminal?: Terminal;
  /** Aborted by Ctrl-C and by SIGTERM. */
  readonly signal: AbortSignal;
}

interface CommandText {
  readonly name: string;
  /** A sentence for the help. */
  readonly summary: string;
  /** The arguments in the help: `<handle>`, `[prefix]` if optional, `<handle>...` for several. */
  readonly usage: readonly string[];
  /** True if the first word names a directory of frames, before the arguments. Default: never. */
  readonly takesDirectory?: (words: readonly string[]) => boolean;
  /** By name, without the dashes. */
  readonly options: Readonly<Record<string, CommandOption>>;
  /** Lines of the help after the flags: further rules, and examples. */
  readonly notes: readonly string[];
}

/** A command whose flags `svc` parses. */
export interface Command extends CommandText {
  readonly kind: 'command';
  /** Resolves to the exit code, or to nothing for success. */
  run(args: Arguments, context: Context): Promise<number | void>;
}

/** A command with its own parser of arguments. Once it runs, it handles signals. */
export interface Program extends CommandText {
  readonly kind: 'program';
  /** Resolves to the exit code. */
  run(argv: readonly string[], context: Context): Promise<number>;
}

/** True for a directory and SQL, or a directory alone. SQL may have a slash too: `6/2`, or a comment. */
export function precedesSql(words: readonly string[]): boolean {
  const [first = ''] = words;
  return words.length > 1 ? beginsWithDirectory(words) : /^(?:\/(?!\*)|(?:\.{1,2}|~)(?:[\\/]|$))/.test(first);
}

/** True if the first word is a directory of frames: no handle has a slash, or is `.`, `..` or `~`. */
export function beginsWithDirectory([first = '']: readonly string[]): boolean {
  return /[\\/]|^(?:\.{1,2}|~)$/.test(first);
}

/** True for a directory of frames and what to put there. A single word is the file, also with a slash. */
export function precedesFile(words: readonly string[]): boolean {
  return words.length > 1 && beginsWithDirectory(words);
}
