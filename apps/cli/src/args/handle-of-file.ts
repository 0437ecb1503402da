import { CliError } from '../errors/cli-error.ts';
import { shellWord } from '../text/shell-word.ts';
import { readInputName } from './file-formats.ts';
import { DASH } from './source.ts';

const MAX_HANDLE_LENGTH = 128;

/**
 * Makes a handle from the name of a file: without its folder and extensions, without accents, and with `_` for every run
 * of characters that a handle cannot have.
 */
export function handleOfFile(file: string): string {
  const handle = readInputName(file)
    .stem.normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .replaceAll(/[^\w.-]+/g, '_')
    .replaceAll(/^[^A-Za-z\d]+|_+$/g, '')
    .slice(0, MAX_HANDLE_LENGTH);
  if (handle !== '' && file !== DASH) return handle;
  const what =
    file === DASH ? 'Standard input has no name' : `No handle can be made from the name ${JSON.stringify(file)}`;
  throw new CliError('usage', `${what}.`, { hint: `Give a handle before it: svc put trades ${shellWord(file)}.` });
}
