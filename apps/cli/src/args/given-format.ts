import type { UploadFormat } from '@svc/frames';
import type { Arguments } from './command.ts';
import { CliError } from '../errors/cli-error.ts';
import { INPUT_FORMATS, inputFormat, isInputFormat } from './file-formats.ts';

/** The format of a file to be read: that of the flag, else of the file's name. */
export function givenFormat(args: Arguments, flag: string, file: string): UploadFormat {
  const given = args.text(flag);
  const format = given ?? inputFormat(file);
  if (format !== undefined && isInputFormat(format)) return format;
  const hint = `Say --${flag} ${INPUT_FORMATS.join(` or --${flag} `)}: these can be read.`;
  throw given === undefined
    ? new CliError('usage', `The name ${JSON.stringify(file)} does not tell the format.`, { hint })
    : new CliError('usage', `--${flag} ${JSON.stringify(given)} is not a format that can be read.`, { hint });
}
