/** A backup cannot be made or restored. The message says why, and the hint what to do. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
  readonly hint: string;

  constructor(message: string, { hint, cause }: { readonly hint: string; readonly cause?: unknown }) {
    super(message, cause === undefined ? undefined : { cause });
    this.hint = hint;
  }
}
