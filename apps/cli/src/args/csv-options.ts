import type { Arguments } from './command.ts';
import { CliError } from '../errors/cli-error.ts';
import type { CommandOption } from './command.ts';

/** The flags of every command that reads CSV; options that are not given are detected. */
export const CSV_OPTIONS: Readonly<Record<string, CommandOption>> = {
  header: { value: '<true|false>', summary: 'CSV: whether the first line is a header.' },
  delimiter: { value: '<text>', summary: 'CSV: the delimiter between values.' },
  columns: { value: '<names>', summary: 'CSV: all columns, with or without types: id:LONG,s.' },
};

/** Converts those flags to parameters of an upload. */
export function csvParams(args: Arguments, format: string): Readonly<Record<string, string>> {
  const given = Object.keys(CSV_OPTIONS).flatMap((flag) => {
    const value = args.text(flag);
    return value === undefined ? [] : [[flag, value] as const];
  });
  const [first] = given;
  if (first !== undefined && format !== 'csv') {
    throw new CliError('usage', `--${first[0]} applies to CSV only, and the format is ${format}.`, {
      hint: 'Leave it out.',
    });
  }
  return Object.fromEntries(given);
}
