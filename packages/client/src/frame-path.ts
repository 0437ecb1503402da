import { ClientError } from './http/client-error.ts';

/** Returns the path of a frame. The server checks the handle; here it only must not vanish from the URL. */
export function framePath(handle: string): string {
  if (!/^\.{0,2}$/.test(handle)) return `frames/${encodeURIComponent(handle)}`;
  throw new ClientError(`${JSON.stringify(handle)} is not a valid handle.`, {
    code: 'invalid_argument',
    hint: 'A handle has 1 to 128 letters, digits, dots, dashes and underscores, and begins with a letter or digit.',
  });
}
