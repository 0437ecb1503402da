import type { Arguments } from './command.ts';
import { CliError } from '../errors/cli-error.ts';
import type { CommandOption } from './command.ts';

/** The flags of every command that reads CSV: what is not said is found out. */
export const CSV_OPTIONS: Readonly<Record<string, CommandOption>> = {
  header: { value: '<true|false>', summary: 'CSV: whether the first line has names.' },
  delimiter: { value: '<text>', summary: 'CSV: what stands between values.' },
  columns: { value: '<names>', summary: 'CSV: all columns, with or without types: id:LONG,s.' },
};

/** What those flags say, as parameters of an upload. */
export function csvParams(args: Arguments, format: string): Readonly<Record<string, string>> {
  const given = Object.keys(CSV_OPTIONS).flatMap((flag) => {
    const value = args.text(flag);
    return value === undefined ? [] : [[flag, value] as const];
  });
  const [first] = given;
  if (first !== undefined && format !== 'csv') {
    throw new CliError('usage', `--${first[0]} is about CSV, and this is ${format}.`, { hint: 'Leave it out.' });
  }
  return Object.fromEntries(given);
}
