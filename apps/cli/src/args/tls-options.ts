import { createSecureContext } from 'node:tls';
import { CliError } from '../errors/cli-error.ts';
import { errorCode } from '../errors/error-code.ts';
import type { ClientTls } from '../client/tls-fetch.ts';
import type { Arguments, CommandOption } from './command.ts';
import { readSmallFile } from './read-small-file.ts';

/** The flags of TLS of every command that sends requests to a server. */
export const TLS_OPTIONS: Readonly<Record<string, CommandOption>> = {
  'ca-file': { value: '<file>', summary: 'PEM file of the authority of the server.', isCommon: true },
  cert: { value: '<file>', summary: 'PEM file with a certificate for the server.', isCommon: true },
  key: { value: '<file>', summary: 'PEM file with the key of --cert.', isCommon: true },
};

const MAX_FILE_BYTES = 2 ** 20;

/** Reads the files of the flags of TLS; undefined if there are none. */
export function resolveTls(args: Arguments, url: string): ClientTls | undefined {
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
  return readSmallFile({ path, title, maxBytes: MAX_FILE_BYTES, hint: `Name a PEM file with --${flag}.` });
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
