/** The exit codes of `svc`; `svc serve` has those of the server instead. */
export const EXIT = {
  ok: 0,
  refused: 1,
  usage: 2,
  unreachable: 3,
  warned: 4,
  interrupted: 130,
  terminated: 143,
} as const;

/** What a `CliError` says beside its sentence. */
export interface CliErrorOptions {
  /** What the reader can do about it. */
  readonly hint: string;
  /** Lines shown between the sentence and the hint, as they are. */
  readonly details?: readonly string[];
  readonly cause?: unknown;
}

/** The same for a refusal of the server, which may not say what to do: the database behind it never does. */
export interface RefusalErrorOptions extends Omit<CliErrorOptions, 'hint'> {
  readonly hint: string | undefined;
}

/** A failure the user is told of: which exit code, one sentence, and a hint. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;
  readonly hint: string | undefined;
  readonly details: readonly string[];

  constructor(kind: 'usage' | 'unreachable', message: string, options: CliErrorOptions);
  constructor(kind: 'refused', message: string, options: RefusalErrorOptions);
  constructor(kind: 'refused' | 'usage' | 'unreachable', message: string, options: RefusalErrorOptions) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.exitCode = EXIT[kind];
    this.hint = options.hint;
    this.details = options.details ?? [];
  }
}

/** The reader of the output has gone (`svc get trades | head`): nothing is left to do, and nothing went wrong. */
export class OutputClosedError extends Error {
  override readonly name = 'OutputClosedError';
}

/** The user, or the system, wants the process to end: the reason of an aborted signal. */
export class InterruptedError extends Error {
  override readonly name = 'InterruptedError';
  readonly exitCode: number;

  constructor(kind: 'interrupted' | 'terminated') {
    super(kind);
    this.exitCode = EXIT[kind];
  }
}

/** An answer that came whole and still is not one of a data-frame server. */
export function invalidResponse(what: string): CliError {
  return new CliError('unreachable', `The answer cannot be read: ${what}.`, {
    hint: 'Check that --url or SVC_URL names a data-frame server, and its base path if it has one.',
  });
}

/** An answer that ended before it was complete. */
export function incompleteResponse(): CliError {
  return new CliError('unreachable', 'The connection broke in the middle of the answer; it is not complete.', {
    hint: 'Send the request again; the log of the server may say why it stopped.',
  });
}
