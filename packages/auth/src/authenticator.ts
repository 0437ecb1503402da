import type { Caller } from '@svc/frames';
import { type AuthEvent, type WatchedFiles, watchFiles } from './watch-files.ts';
import {
  type Callers,
  hasHash,
  loadCallers,
  parseToken,
  type TenantLimits,
  type Token,
  type TokenCaller,
} from './callers-file.ts';
import {
  checkCertificate,
  createProvedCallers,
  type Credentials,
  parseAuthorization,
  type Proof,
  unauthenticated,
} from './credentials.ts';
import type { JwtRules, JwtVerifier, KeySet, KeySetOptions } from './jwt.ts';

/** Finds out who sent a request. */
export interface Authenticator {
  /** Returns the caller behind the credentials. Throws `unauthenticated` if they prove none. */
  authenticate(credentials: Credentials): Caller | Promise<Caller>;
  /** Returns the current limits of a tenant; undefined if it has none. Default: no tenant has limits. */
  limitsOf?(tenant: string): TenantLimits | undefined;
  /** Stops watching its files. */
  close(): void;
}

/** Options of `openAuthenticator`: at least one source of callers. */
export interface AuthenticatorOptions {
  /**
   * The TOML file of the tokens, the certificates and the limits of tenants. It is read again when it changes. Default:
   * there are no tokens.
   */
  readonly callersFile?: string | undefined;
  /** The rules for JWTs, and where their keys are. Default: JWTs are refused. */
  readonly jwt?: JwtOptions | undefined;
  /** Called when a source was read again, or could not be used. Default: none. */
  readonly onEvent?: ((event: AuthEvent) => void) | undefined;
  /** How often to look for changes of files, in milliseconds. Default 1000. */
  readonly pollMs?: number | undefined;
  /** The clock, in ms since 1970. */
  readonly now?: (() => number) | undefined;
}

/** The rules for JWTs, and where their keys are. */
export interface JwtOptions extends JwtRules {
  /** A file, or an https URL, with the JSON Web Key Set of the issuer. */
  readonly jwks: string;
  /** The authorities to trust for the URL, in PEM. Default: those of Node. */
  readonly ca?: string | undefined;
}

/**
 * Opens the sources of callers. Throws `CallersFileError` or `KeySetError` if one cannot be used. A credential that has the
 * form of a token is checked as a token only, and so on: a wrong one is not rescued by another source, and not by the
 * certificate of the connection.
 */
export async function openAuthenticator(options: AuthenticatorOptions): Promise<Authenticator> {
  const { callersFile, jwt, onEvent = () => {}, pollMs, now = Date.now } = options;
  const callers = callersFile === undefined ? undefined : await watchCallers(callersFile, { onEvent, pollMs });
  const jwts =
    jwt &&
    (await openJwts(jwt, { onEvent, pollMs, now }).catch((error: unknown) => {
      callers?.close();
      throw error;
    }));
  const proved = createProvedCallers();
  let sources = { callers: callers?.current, keys: jwts?.keys.current };

  /** Another object whenever a source has changed. */
  function currentSources(): object {
    const isCurrent = sources.callers === callers?.current && sources.keys === jwts?.keys.current;
    if (!isCurrent) sources = { callers: callers?.current, keys: jwts?.keys.current };
    return sources;
  }

  function prove(authorization: string | undefined, nowMs: number): Proof | Promise<Proof> {
    const secret = parseAuthorization(authorization);
    const token = parseToken(secret);
    if (token !== undefined) return checkToken(callers?.current.tokens.get(token.id), token, nowMs);
    const proof = jwts?.verify(secret);
    if (proof === undefined) throw wrongToken();
    return proof;
  }

  return {
    authenticate({ authorization, certificate, connection }) {
      const nowMs = now();
      if (authorization === undefined && certificate !== undefined) {
        return checkCertificate(callers?.current.certificates ?? new Map(), certificate, nowMs);
      }
      if (authorization === undefined || connection === undefined) return callerOf(prove(authorization, nowMs));
      const before = currentSources();
      const known = proved.find(connection, authorization, before, nowMs);
      if (known !== undefined) return known;
      return callerOf(prove(authorization, nowMs), (proof) => proved.add(connection, authorization, before, proof));
    },
    limitsOf: (tenant) => callers?.current.limits.get(tenant),
    close() {
      callers?.close();
      jwts?.keys.close();
    },
  };
}

/** Returns the caller of a proof, at once if there is nothing to wait for. */
function callerOf(
  proof: Proof | Promise<Proof>,
  onProved: (proof: Proof) => void = () => {},
): Caller | Promise<Caller> {
  if (proof instanceof Promise) return proof.then((proved) => callerOf(proved, onProved));
  onProved(proof);
  return proof.caller;
}

/** Loads the library for JWTs only if there are any: loading takes as long as the rest of the package. */
async function openJwts(
  { jwks: source, ca, ...rules }: JwtOptions,
  watching: Pick<KeySetOptions, 'now' | 'onEvent' | 'pollMs'>,
): Promise<{ readonly keys: KeySet; readonly verify: JwtVerifier }> {
  const { createJwtVerifier, openKeySet } = await import('./jwt.ts');
  const keys = await openKeySet({ source, ca, ...watching });
  return { keys, verify: createJwtVerifier(keys, rules, watching.now) };
}

function watchCallers(
  path: string,
  { onEvent, pollMs }: { readonly onEvent: (event: AuthEvent) => void; readonly pollMs: number | undefined },
): Promise<WatchedFiles<Callers>> {
  return watchFiles({
    paths: [path],
    load: () => loadCallers(path),
    onChange: ({ tokens }) => onEvent({ kind: 'callers_loaded', path, tokens: tokens.size }),
    onFailure: (error) =>
      onEvent({ kind: 'callers_refused', path, reason: error instanceof Error ? error.message : String(error) }),
    pollMs,
  });
}

/** Compared with if the id is unknown: an unknown id takes as long as a wrong secret. */
const NO_HASH = Buffer.alloc(32);

function checkToken(caller: TokenCaller | undefined, { secret }: Token, nowMs: number): Proof {
  const isRight = hasHash(secret, caller?.hash ?? NO_HASH);
  if (caller === undefined || !isRight) throw wrongToken();
  const { expires } = caller;
  const untilMs = expires?.getTime() ?? Infinity;
  if (expires !== undefined && untilMs <= nowMs) {
    throw unauthenticated(`The token expired at ${expires.toISOString()}.`, 'Ask the operator for a new token.');
  }
  return { caller, untilMs };
}

function wrongToken(): Error {
  return unauthenticated('The token is unknown, wrong or revoked.', 'Ask the operator for a valid token.');
}
