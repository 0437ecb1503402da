import type { Readable, Writable } from 'node:stream';
import type { Output } from '../output/output.ts';

/** What the words behind a command say. */
export interface Arguments {
  /** The arguments in their order. */
  readonly positionals: readonly string[];
  /** The directory of frames that stands before them. */
  readonly directory: string | undefined;
  /** The value of a flag. */
  text(flag: string): string | undefined;
  /** All values of a flag that may be given several times. */
  texts(flag: string): readonly string[];
  /** Whether a switch is given. */
  has(flag: string): boolean;
}

/** A flag of a command. */
export interface CommandOption {
  /** What stands behind the flag, as the help shows it: `<url>`. A flag without it is a switch. */
  readonly value?: string;
  /** A letter that stands for it behind one dash. */
  readonly short?: string;
  readonly summary: string;
  /** Whether it may be given several times. Default: no. */
  readonly isRepeatable?: boolean;
}

/** Where somebody types and reads. */
export interface Terminal {
  readonly input: Readable;
  readonly output: Writable;
}

/** What a command has of the process it runs in. */
export interface Context {
  /** The version of `svc`. */
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The user's home directory; empty where there is none. */
  readonly homeDir: string;
  readonly stdin: Readable;
  readonly stdout: Output;
  readonly stderr: Output;
  /** The terminal, where both the standard input and output are one. */
  readonly terminal?: Terminal;
  /** Aborted by Ctrl-C and by SIGTERM. */
  readonly signal: AbortSignal;
}

interface CommandText {
  readonly name: string;
  /** What it does, in a sentence. */
  readonly summary: string;
  /** The arguments as the help shows them: `<handle>`, `[prefix]` where it may be left out, `<handle>...` for several. */
  readonly usage: readonly string[];
  /** Whether the first of these words names a directory of frames; the others are then the arguments. Default: never. */
  readonly takesDirectory?: (words: readonly string[]) => boolean;
  /** By name, without the dashes. */
  readonly options: Readonly<Record<string, CommandOption>>;
  /** Lines of the help behind the flags: rules that need a sentence, and examples. */
  readonly notes: readonly string[];
}

/** A command whose flags `svc` reads. */
export interface Command extends CommandText {
  readonly kind: 'command';
  /** Resolves to the exit code, where it is another than that of success. */
  run(args: Arguments, context: Context): Promise<number | void>;
}

/** A command that is another program: it reads its words, and handles signals once it runs, by itself. */
export interface Program extends CommandText {
  readonly kind: 'program';
  /** Resolves to the exit code. */
  run(argv: readonly string[]): Promise<number>;
}
