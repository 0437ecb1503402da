/** The exit codes of `svc`. `svc serve` uses those of the server. */
export const EXIT = {
  ok: 0,
  refused: 1,
  usage: 2,
  unreachable: 3,
  warned: 4,
  interrupted: 130,
  terminated: 143,
} as const;

/** Details of a `CliError`. */
export interface CliErrorOptions {
  /** What the user can do about it. */
  readonly hint: string;
  /** Lines shown verbatim between the message and the hint. */
  readonly details?: readonly string[];
  /** The error code of the server. */
  readonly code?: string | undefined;
  readonly cause?: unknown;
}

/** The same for an error of the server. The database behind it never sends a hint. */
export interface RefusalErrorOptions extends Omit<CliErrorOptions, 'hint'> {
  readonly hint: string | undefined;
}

/** An error for the user: an exit code, one sentence, and a hint. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;
  readonly hint: string | undefined;
  readonly details: readonly string[];
  /** The error code of the server; undefined if the error is not one of the server. */
  readonly code: string | undefined;

  constructor(kind: 'usage' | 'unreachable', message: string, options: CliErrorOptions);
  constructor(kind: 'refused', message: string, options: RefusalErrorOptions);
  constructor(kind: 'refused' | 'usage' | 'unreachable', message: string, options: RefusalErrorOptions) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.exitCode = EXIT[kind];
    this.hint = options.hint;
    this.details = options.details ?? [];
    this.code = options.code;
  }
}

/** The reader of the output closed it (`svc get trades | head`). This is not a failure. */
export class OutputClosedError extends Error {
  override readonly name = 'OutputClosedError';
}

/** The abort reason if the user or the system ends the process. */
export class InterruptedError extends Error {
  override readonly name = 'InterruptedError';
  readonly exitCode: number;

  constructor(kind: 'interrupted' | 'terminated') {
    super(kind);
    this.exitCode = EXIT[kind];
  }
}

/** Makes the error for a complete response of another program. */
export function invalidResponse(what: string): CliError {
  return new CliError('unreachable', `Cannot read the response: ${what}.`, {
    hint: 'Check that --url or SVC_URL names a data-frame server, and its base path if it has one.',
  });
}

/** Makes the error for a response with an early end. */
export function incompleteResponse(): CliError {
  return new CliError('unreachable', 'The connection broke before the response was complete.', {
    hint: 'Send the request again; the server log may say why it stopped.',
  });
}

/** Returns the message of a failure with a full stop, as the end of a sentence. */
export function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.?$/, '.');
}

/** Returns the code of a Node or system error, such as `ENOENT`; undefined if it has none. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
