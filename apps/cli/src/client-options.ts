import type { Arguments } from './arguments.ts';
import { CliError } from './cli-error.ts';
import type { ClientOptions } from './client.ts';
import type { CommandOption, Context } from './command.ts';

const DEFAULT_URL = 'http://127.0.0.1:9000';
const DEFAULT_ERROR_WIDTH = 100;

/** The flag of every command that talks to a server. */
export const URL_OPTION: CommandOption = {
  value: '<url>',
  summary: `Default: SVC_URL, else ${DEFAULT_URL}.`,
};

/** How to reach the server that the command line or the environment names. */
export function clientOptions(args: Arguments, { env, signal, stderr }: Context): ClientOptions {
  return { url: resolveUrl(args.text('url'), env), signal, errorWidth: stderr.width ?? DEFAULT_ERROR_WIDTH };
}

/** The URL of the server: that of the flag, else of the environment, else the default. */
export function resolveUrl(flag: string | undefined, env: Context['env']): string {
  // An empty variable counts as unset.
  return flag === undefined ? checkUrl('SVC_URL', env['SVC_URL'] || DEFAULT_URL) : checkUrl('--url', flag);
}

function checkUrl(source: string, text: string): string {
  const hint = `Write it as ${DEFAULT_URL} or https://example.org/base.`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // Before anything is quoted: a password belongs neither on a screen nor into a log.
  if (url !== undefined && (url.username !== '' || url.password !== '')) {
    throw new CliError('usage', `The URL of ${source} holds a user name or a password.`, { hint });
  }
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    const hasNoScheme = /^[\w.-]+(:\d+)?(\/|$)/.test(text);
    throw new CliError('usage', `${source} is ${JSON.stringify(text)}, which is not a http or https URL.`, {
      hint: hasNoScheme ? `Did you mean http://${text}?` : hint,
    });
  }
  if (url.search !== '' || url.hash !== '') {
    throw new CliError('usage', `${source} is ${JSON.stringify(text)}, with a query or a fragment.`, { hint });
  }
  return url.href.replace(/\/+$/, '');
}
