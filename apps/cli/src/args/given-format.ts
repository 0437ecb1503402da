import type { UploadFormat } from '@svc/frames';
import type { Arguments } from './command.ts';
import { CliError } from '../errors/cli-error.ts';
import { nearestHint } from '../text/nearest-hint.ts';
import { INPUT_FORMATS, type InputName, isInputFormat, readInputName } from './file-formats.ts';

/** An input file, whose format is known. */
export interface InputFile extends InputName {
  readonly format: UploadFormat;
}

const SPREADSHEET = /\.(?:xls[xmb]?|ods|numbers)$/i;

/** Returns what an input file contains: from the flag, else from the file name. */
export function givenFormat(args: Arguments, flag: string, file: string): InputFile {
  const given = args.text(flag);
  const named = readInputName(file);
  const format = given ?? named.format;
  if (format !== undefined && isInputFormat(format)) return { ...named, format };
  if (given === undefined && SPREADSHEET.test(file)) {
    throw new CliError('usage', `${JSON.stringify(file)} is a spreadsheet, which svc does not read.`, {
      hint: 'Save the sheet as CSV in UTF-8, and give that file: File > Save As in Excel and LibreOffice.',
    });
  }
  const hint = `Use --${flag} ${INPUT_FORMATS.join(` or --${flag} `)}.`;
  throw given === undefined
    ? new CliError('usage', `Cannot tell the format from the name ${JSON.stringify(file)}.`, { hint })
    : new CliError('usage', `--${flag} ${JSON.stringify(given)} is not an input format.`, {
        hint: nearestHint(given, INPUT_FORMATS, (name) => `--${flag} ${name}`, hint),
      });
}
