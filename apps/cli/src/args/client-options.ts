import { createSecureContext } from 'node:tls';
import { isTenant } from '@svc/auth';
import { TENANT_RULE } from '@svc/auth/internal';
import type { Arguments, CommandOption, Context } from './command.ts';
import { readSmallFile } from './source.ts';
import type { ClientOptions, ClientTls } from '../client/client.ts';
import { CliError, errorCode } from '../errors.ts';

const DEFAULT_URL = 'http://127.0.0.1:9000';
const DEFAULT_ERROR_WIDTH = 100;

const DEFAULT_TIMEOUT_SECONDS = 30;

/** The longest wait of Node for a response, and so the timeout of slow commands. */
export const MAX_TIMEOUT_SECONDS = 300;

/** Names the server. */
export const URL_OPTION: CommandOption = {
  value: '<url>',
  summary: `Default: SVC_URL, else ${DEFAULT_URL}.`,
};

/** Names the file of the token. */
export const TOKEN_FILE_OPTION: CommandOption = {
  value: '<file>',
  summary: 'File with the token. Default: SVC_TOKEN.',
  isCommon: true,
};

/** For commands with a directory in place of a server. */
export const TENANT_OPTION: CommandOption = {
  value: '<name>',
  summary: 'Tenant in a directory. Default: default.',
  isCommon: true,
};

/** The flags of every command with one request to a server. */
export function serverOptions(timeoutSeconds = DEFAULT_TIMEOUT_SECONDS): Readonly<Record<string, CommandOption>> {
  return {
    timeout: { value: '<seconds>', summary: `How long to wait for the response. Default: ${timeoutSeconds}.` },
    'token-file': TOKEN_FILE_OPTION,
    ...TLS_OPTIONS,
    url: URL_OPTION,
  };
}

/** The server of the command line or the environment. */
export function clientOptions(
  args: Arguments,
  context: Context,
  timeoutSeconds = DEFAULT_TIMEOUT_SECONDS,
): ClientOptions {
  const token = resolveToken(args.text('token-file'), context.env);
  const url = resolveUrl(args.text('url'), context.env);
  const tls = resolveTls(args, url);
  return {
    url,
    ...(token !== undefined && { token }),
    ...(tls !== undefined && { tls }),
    ...responseOptions(args, context, timeoutSeconds),
  };
}

/** How to wait for responses, of a server or of a local directory. */
export function responseOptions(
  args: Arguments,
  { signal, stderr }: Context,
  timeoutSeconds?: number,
): Omit<ClientOptions, 'url'> {
  const seconds = resolveTimeout(args.text('timeout')) ?? timeoutSeconds;
  return {
    signal,
    errorWidth: stderr.width ?? DEFAULT_ERROR_WIDTH,
    ...(seconds !== undefined && { timeoutMs: 1000 * seconds }),
  };
}

function resolveTimeout(flag: string | undefined): number | undefined {
  if (flag === undefined) return undefined;
  const seconds = /^\d{1,3}(?:\.\d{1,3})?$/.test(flag) ? Number(flag) : 0;
  if (seconds > 0 && seconds <= MAX_TIMEOUT_SECONDS) return seconds;
  throw new CliError(
    'usage',
    `--timeout ${JSON.stringify(flag)} is not a number of seconds above 0 and up to ${MAX_TIMEOUT_SECONDS}.`,
    { hint: 'Write --timeout 10, or --timeout 0.5 for half a second.' },
  );
}

const MAX_TOKEN_FILE_BYTES = 16 * 1024;

/** Returns the token for the server: from the file, else from the environment. */
function resolveToken(file: string | undefined, env: Context['env']): string | undefined {
  // Never quoted: a token must not reach a screen or a log.
  const token = file === undefined ? env['SVC_TOKEN'] || undefined : readToken(file);
  if (token === undefined || /^[\x21-\x7e]+$/.test(token)) return token;
  const source = file === undefined ? 'SVC_TOKEN' : JSON.stringify(file);
  throw new CliError('usage', `${source} is not a token: it is empty, or has blanks or other than ASCII characters.`, {
    hint: 'svc token create prints a token; save it alone.',
  });
}

function readToken(path: string): string {
  const title = `The token file ${JSON.stringify(path)}`;
  const hint = 'Name a file with the token alone.';
  return readSmallFile(path, title, MAX_TOKEN_FILE_BYTES, hint).trim();
}

/** Returns the URL of the server: from the flag, else from the environment, else the default. */
export function resolveUrl(flag: string | undefined, env: Context['env']): string {
  // An empty variable counts as unset.
  return flag === undefined ? checkUrl('SVC_URL', env['SVC_URL'] || DEFAULT_URL) : checkUrl('--url', flag);
}

function checkUrl(source: string, text: string): string {
  const hint = `Write it as ${DEFAULT_URL} or https://example.org/base.`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // Checked before any message quotes the URL: a password must not reach a screen or a log.
  if (url !== undefined && (url.username !== '' || url.password !== '')) {
    throw new CliError('usage', `The URL of ${source} contains a user name or a password.`, { hint });
  }
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    const hasNoScheme = /^[\w.-]+(:\d+)?(\/|$)/.test(text);
    throw new CliError('usage', `${source} is ${JSON.stringify(text)}, which is not an http or https URL.`, {
      hint: hasNoScheme ? `Did you mean http://${text}?` : hint,
    });
  }
  if (url.search !== '' || url.hash !== '') {
    throw new CliError('usage', `${source} is ${JSON.stringify(text)}, with a query or a fragment.`, { hint });
  }
  return url.href.replace(/\/+$/, '');
}

/** The flags of TLS of every command with a server. */
export const TLS_OPTIONS: Readonly<Record<string, CommandOption>> = {
  'ca-file': { value: '<file>', summary: 'PEM file of the authority of the server.', isCommon: true },
  cert: { value: '<file>', summary: 'PEM file with a certificate for the server.', isCommon: true },
  key: { value: '<file>', summary: 'PEM file with the key of --cert.', isCommon: true },
};

const MAX_FILE_BYTES = 2 ** 20;

/** Reads the files of the flags of TLS; undefined if there are none. */
function resolveTls(args: Arguments, url: string): ClientTls | undefined {
  const given = Object.keys(TLS_OPTIONS).filter((flag) => args.has(flag) || args.text(flag) !== undefined);
  const [first] = given;
  if (first === undefined) return undefined;
  if (!url.startsWith('https:')) {
    throw new CliError('usage', `--${first} has no effect: the server ${url} is not an https URL.`, {
      hint: `Write --url ${url.replace(/^http:/, 'https:')} if it speaks TLS.`,
    });
  }
  if (given.includes('cert') !== given.includes('key')) {
    throw new CliError('usage', '--cert and --key belong together.', {
      hint: 'Name the file of the certificate with --cert and that of its private key with --key.',
    });
  }
  const [ca, cert, key] = ['ca-file', 'cert', 'key'].map((flag) => readPem(flag, args.text(flag)));
  const tls = {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  };
  checkFiles(tls);
  return tls;
}

function readPem(flag: string, path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  const title = `The file ${JSON.stringify(path)} of --${flag}`;
  return readSmallFile(path, title, MAX_FILE_BYTES, `Name a PEM file with --${flag}.`);
}

function checkFiles({ ca, cert, key }: ClientTls): void {
  // OpenSSL accepts any text as a list of authorities, and then trusts none.
  if (ca !== undefined && !ca.includes('-----BEGIN CERTIFICATE-----')) {
    throw new CliError('usage', 'The file of --ca-file does not contain a PEM certificate.', {
      hint: 'Name the certificate of the authority that signed the certificate of the server.',
    });
  }
  try {
    createSecureContext({ ca, cert, key });
  } catch (error) {
    const flags = cert === undefined ? '--ca-file' : '--cert and --key';
    throw new CliError('usage', `The files of ${flags} cannot be used (${errorCode(error) ?? 'unknown reason'}).`, {
      hint: 'Name PEM files: a certificate, and the private key of it without a passphrase.',
      cause: error,
    });
  }
}

/** Parses the name of a tenant. */
export function parseTenant(text: string): string {
  if (isTenant(text)) return text;
  throw new CliError('usage', `--tenant ${JSON.stringify(text)} is not the name of a tenant.`, { hint: TENANT_RULE });
}
