import { CliError } from '../errors/cli-error.ts';
import type { Arguments, CommandOption } from './command.ts';

/** The flag of every command that writes a frame. */
export const TTL_OPTION: CommandOption = { value: '<seconds>', summary: 'Let the frame expire. Default: never.' };

/** Returns the value of that flag. */
export function ttlOf(args: Arguments): string | undefined {
  const ttl = args.text('ttl');
  if (ttl === undefined || /^[1-9]\d{0,15}$/.test(ttl)) return ttl;
  throw new CliError('usage', `--ttl ${JSON.stringify(ttl)} is not a positive whole number of seconds.`, {
    hint: 'Write --ttl 3600 for an hour.',
  });
}
