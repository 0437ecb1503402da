import { CliError } from '../errors/cli-error.ts';

/** The path of a frame. What a handle may be is for the server to say; here it only must not vanish from the URL. */
export function framePath(handle: string): string {
  if (!/^\.{0,2}$/.test(handle)) return `frames/${encodeURIComponent(handle)}`;
  throw new CliError('usage', `${JSON.stringify(handle)} is not a valid handle.`, {
    hint: 'A handle has 1 to 128 letters, digits, dots, dashes and underscores, and begins with a letter or digit.',
  });
}
