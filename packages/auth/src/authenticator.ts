import { timingSafeEqual } from 'node:crypto';
import type { Caller } from './caller.ts';
import {
  type Callers,
  CallersFileError,
  MAX_CALLERS_FILE_BYTES,
  parseCallers,
  type TokenCaller,
} from './callers-file.ts';
import { type Credentials, parseAuthorization, unauthenticated } from './credentials.ts';
import { FileError, readTextFile } from './read-text-file.ts';
import { hashSecret, parseToken, type Token } from './token.ts';
import { watchFiles } from './watch-files.ts';

/** Finds out who sent a request. */
export interface Authenticator {
  /** Returns the caller that the credentials prove. Throws `unauthenticated` if they prove none. */
  authenticate(credentials: Credentials): Caller | Promise<Caller>;
  /** Stops watching its files. */
  close(): void;
}

/** An event of an authenticator. */
export type AuthEvent =
  | { readonly kind: 'callers_loaded'; readonly path: string; readonly tokens: number }
  /** The file has changed and cannot be used; the last usable content stays in force. */
  | { readonly kind: 'callers_refused'; readonly path: string; readonly reason: string };

/** Options of `openAuthenticator`. */
export interface AuthenticatorOptions {
  /** The TOML file of the callers. It is read again when it changes. */
  readonly callersFile: string;
  /** Called when the file was read again, or could not be used. Default: none. */
  readonly onEvent?: ((event: AuthEvent) => void) | undefined;
  /** How often to look for changes of the file, in milliseconds. Default 1000. */
  readonly pollMs?: number | undefined;
  /** The clock, in ms since 1970. */
  readonly now?: (() => number) | undefined;
}

/** Reads the callers file and returns the authenticator of its callers. Throws `CallersFileError` if it cannot be used. */
export async function openAuthenticator(options: AuthenticatorOptions): Promise<Authenticator> {
  const { callersFile: path, onEvent = () => {}, pollMs, now = Date.now } = options;
  const callers = await watchFiles({
    paths: [path],
    load: () => loadCallers(path),
    onChange: ({ tokens }) => onEvent({ kind: 'callers_loaded', path, tokens: tokens.size }),
    onFailure: (error) =>
      onEvent({ kind: 'callers_refused', path, reason: error instanceof Error ? error.message : String(error) }),
    pollMs,
  });
  return {
    authenticate({ authorization }) {
      const token = parseToken(parseAuthorization(authorization));
      if (token === undefined) throw wrongToken();
      return checkToken(callers.current.tokens.get(token.id), token, now());
    },
    close: () => callers.close(),
  };
}

/** Reads and parses a callers file. Throws `CallersFileError`, with the path in its message. */
export async function loadCallers(path: string): Promise<Callers> {
  try {
    return parseCallers(await readTextFile(path, MAX_CALLERS_FILE_BYTES));
  } catch (error) {
    if (!(error instanceof CallersFileError || error instanceof FileError)) throw error;
    throw new CallersFileError(`The callers file ${JSON.stringify(path)} cannot be used. ${error.message}`, {
      cause: error,
    });
  }
}

/** Compared with if the id is unknown, so that an unknown id takes as long as a wrong secret. */
const NO_HASH = Buffer.alloc(32);

function checkToken(caller: TokenCaller | undefined, { secret }: Token, nowMs: number): Caller {
  const hash = Buffer.from(hashSecret(secret).slice('sha256:'.length), 'hex');
  const isRight = timingSafeEqual(hash, caller?.hash ?? NO_HASH);
  if (caller === undefined || !isRight) throw wrongToken();
  if (caller.expires !== undefined && caller.expires.getTime() <= nowMs) {
    throw unauthenticated(`The token expired at ${caller.expires.toISOString()}.`, 'Ask the operator for a new token.');
  }
  return caller;
}

function wrongToken(): Error {
  return unauthenticated('The token is unknown, wrong or revoked.', 'Ask the operator for a valid token.');
}
