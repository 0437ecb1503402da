import { CliError } from '../errors/cli-error.ts';

/** Returns the path of a frame. The server validates the handle; here it only must not vanish from the URL. */
export function framePath(handle: string): string {
  if (!/^\.{0,2}$/.test(handle)) return `frames/${encodeURIComponent(handle)}`;
  throw new CliError('usage', `${JSON.stringify(handle)} is not a valid handle.`, {
    hint: 'A handle has 1 to 128 letters, digits, dots, dashes and underscores, and begins with a letter or digit.',
  });
}
