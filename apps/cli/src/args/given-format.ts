import type { UploadFormat } from '@svc/frames';
import type { Arguments } from './command.ts';
import { CliError } from '../errors/cli-error.ts';
import { INPUT_FORMATS, inputFormat, isInputFormat } from './file-formats.ts';

/** Returns the format of an input file: from the flag, else from the file name. */
export function givenFormat(args: Arguments, flag: string, file: string): UploadFormat {
  const given = args.text(flag);
  const format = given ?? inputFormat(file);
  if (format !== undefined && isInputFormat(format)) return format;
  const hint = `Use --${flag} ${INPUT_FORMATS.join(` or --${flag} `)}.`;
  throw given === undefined
    ? new CliError('usage', `Cannot tell the format from the name ${JSON.stringify(file)}.`, { hint })
    : new CliError('usage', `--${flag} ${JSON.stringify(given)} is not an input format.`, { hint });
}
