import { hash } from 'node:crypto';
import { get } from 'node:https';
import { type Caller, type Permission, PERMISSIONS } from '@svc/frames';
import { createLocalJWKSet, errors, type JWTPayload, jwtVerify, type JWTVerifyGetKey } from 'jose';
import * as v from 'valibot';
import { isTenant, type Proof, unauthenticated } from './credentials.ts';
import { type AuthEvent, FileError, isKeySetUrl, KeySetError, readTextFile, watchFiles } from './watch-files.ts';

/** The rules for JWTs. */
export interface JwtRules {
  /** The only accepted `iss`. */
  readonly issuer: string;
  /** `aud` must contain it. */
  readonly audience: string;
  /** The claim with the tenant. Default `tenant`. */
  readonly tenantClaim?: string | undefined;
  /** The claim with the permissions: a list, or words in a text. Default `permissions`. */
  readonly permissionsClaim?: string | undefined;
}

/** Finds the callers of JWTs. Returns undefined if a credential does not have the form of a JWT. */
export type JwtVerifier = (jwt: string) => Proof | Promise<Proof> | undefined;

/** Only asymmetric ones: with a public key as the secret of HS256, anyone could sign. */
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA'];
const CLOCK_SKEW_SECONDS = 30;
/** The size of the cache of verified JWTs. */
const MAX_CACHED = 1000;
const MAX_ID_LENGTH = 128;

/** True if a credential has the form of a JWT. */
function isJwt(secret: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(secret);
}

/** Creates a verifier. It remembers verified JWTs until they expire or the keys change. */
export function createJwtVerifier(keys: KeySet, rules: JwtRules, now: () => number): JwtVerifier {
  const { issuer, audience } = rules;
  /** By the digest of the JWT: a dump of the memory has no list of them. In the order of their verification. */
  const verified = new Map<string, { readonly proof: Proof; readonly by: JWTVerifyGetKey }>();

  async function claimsOf(jwt: string): Promise<JWTPayload> {
    const currentDate = new Date(now());
    const options = { algorithms: ALGORITHMS, issuer, audience, clockTolerance: CLOCK_SKEW_SECONDS, currentDate };
    const read = async () => jwtVerify(jwt, keys.current, { ...options, requiredClaims: ['exp'] });
    try {
      return (await read()).payload;
    } catch (error) {
      if (!isUnknownKey(error) || !(await keys.refresh())) throw error;
      return (await read()).payload;
    }
  }

  async function verify(jwt: string, digest: string): Promise<Proof> {
    const by = keys.current;
    let claims: JWTPayload;
    try {
      claims = await claimsOf(jwt);
    } catch (error) {
      throw unauthenticated(refusalOf(error), 'Get a new JWT from its issuer.');
    }
    const untilMs = 1000 * ((claims.exp ?? 0) + CLOCK_SKEW_SECONDS);
    const proof = { caller: callerOf(claims, rules), untilMs };
    verified.set(digest, { proof, by });
    const [oldest] = verified.keys();
    if (verified.size > MAX_CACHED && oldest !== undefined) verified.delete(oldest);
    return proof;
  }

  return (jwt) => {
    const digest = hash('sha256', jwt, 'base64');
    const known = verified.get(digest);
    if (known !== undefined && known.by === keys.current && now() < known.proof.untilMs) return known.proof;
    verified.delete(digest);
    return isJwt(jwt) ? verify(jwt, digest) : undefined;
  };
}

function refusalOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'The JWT has expired.';
  if (error instanceof errors.JWTClaimValidationFailed) return `The claim ${error.claim} of the JWT is not accepted.`;
  // The last two: a key of the set is too short, or not valid.
  const isRefusal = [errors.JOSEError, TypeError, DOMException].some((kind) => error instanceof kind);
  if (isRefusal) return `The JWT is not signed by a known key with ${ALGORITHMS.join(', ')}.`;
  throw error;
}

function callerOf(claims: JWTPayload, { tenantClaim = 'tenant', permissionsClaim = 'permissions' }: JwtRules): Caller {
  const tenant = claims[tenantClaim];
  if (typeof tenant !== 'string' || !isTenant(tenant)) {
    throw unauthenticated(`The claim ${tenantClaim} of the JWT is not the name of a tenant.`);
  }
  return { id: idOf(claims.sub), tenant, permissions: permissionsOf(claims[permissionsClaim]) };
}

/** Other words in the claim are for other programs. */
function permissionsOf(claim: unknown): ReadonlySet<Permission> {
  const words: readonly unknown[] = Array.isArray(claim) ? claim : typeof claim === 'string' ? claim.split(/\s+/) : [];
  return new Set(PERMISSIONS.filter((name) => words.includes(name)));
}

function idOf(subject: string | undefined): string {
  return `jwt:${(subject ?? '').replaceAll(/[^\x21-\x7e]/g, '?').slice(0, MAX_ID_LENGTH)}`;
}

/** The public keys of signed JWTs. */
export interface KeySet {
  /** Finds the key of a JWT; a new function whenever the keys change. */
  readonly current: JWTVerifyGetKey;
  /** Loads the keys again, because one is missing, unless it happened a moment ago. Returns true if they changed. */
  refresh(): Promise<boolean>;
  close(): void;
}

/** Options of `openKeySet`. */
export interface KeySetOptions {
  /** A file, or an https URL, with a JSON Web Key Set. */
  readonly source: string;
  /** Authorities for the URL, in PEM. Default: those of Node. */
  readonly ca?: string | undefined;
  readonly onEvent: (event: AuthEvent) => void;
  readonly pollMs?: number | undefined;
  /** The clock, in ms. */
  readonly now: () => number;
}

const MAX_FILE_BYTES = 2 ** 20;
/** How long to wait between two requests to the URL. */
const MIN_FETCH_MS = 30_000;

/** Loads the keys. Throws `KeySetError` if they cannot be used. */
export async function openKeySet(options: KeySetOptions): Promise<KeySet> {
  return isKeySetUrl(options.source) ? openUrl(options) : openFile(options);
}

async function openFile({ source, onEvent, pollMs }: KeySetOptions): Promise<KeySet> {
  const keys = await watchFiles({
    paths: [source],
    load: async () => parseKeySet(parseJson(await readTextFile(source, MAX_FILE_BYTES))),
    onChange: ({ count }) => onEvent({ kind: 'keys_loaded', source, keys: count }),
    onFailure: (error) => onEvent({ kind: 'keys_refused', source, reason: reasonOf(error) }),
    pollMs,
  }).catch((error: unknown) => {
    throw new KeySetError(`The keys in ${JSON.stringify(source)} cannot be used. ${reasonOf(error)}`, { cause: error });
  });
  return {
    get current() {
      return keys.current.find;
    },
    // The file is watched.
    refresh: async () => false,
    close: () => keys.close(),
  };
}

async function openUrl({ source, ca, onEvent, now }: KeySetOptions): Promise<KeySet> {
  const load = async (): Promise<ParsedKeySet> => parseKeySet(await fetchJson(source, ca));
  let fetchedMs = now();
  let keys = await load().catch((error: unknown) => {
    throw new KeySetError(`The keys at ${source} cannot be loaded. ${reasonOf(error)}`, { cause: error });
  });
  let running: Promise<boolean> | undefined;

  async function reload(): Promise<boolean> {
    fetchedMs = now();
    try {
      keys = await load();
      onEvent({ kind: 'keys_loaded', source, keys: keys.count });
      return true;
    } catch (error) {
      onEvent({ kind: 'keys_refused', source, reason: reasonOf(error) });
      return false;
    } finally {
      running = undefined;
    }
  }

  return {
    get current() {
      return keys.find;
    },
    async refresh() {
      if (running === undefined && now() - fetchedMs < MIN_FETCH_MS) return false;
      running ??= reload();
      return running;
    },
    close: () => undefined,
  };
}

interface ParsedKeySet {
  readonly find: JWTVerifyGetKey;
  readonly count: number;
}

const KeySetTable = v.object({ keys: v.pipe(v.array(v.looseObject({ kty: v.string() })), v.minLength(1)) });

function parseKeySet(value: unknown): ParsedKeySet {
  const parsed = v.safeParse(KeySetTable, value);
  if (!parsed.success) throw new FileError('It is not a JSON Web Key Set with at least one key.');
  const { keys } = parsed.output;
  return { find: createLocalJWKSet({ keys }), count: keys.length };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new FileError('It is not JSON.');
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof SyntaxError) return 'It is not JSON.';
  return error instanceof Error ? error.message : String(error);
}

/** True for the error of a missing key: new ones may be needed. */
function isUnknownKey(error: unknown): boolean {
  return error instanceof errors.JWKSNoMatchingKey;
}

const TIMEOUT_MS = 5000;
const MAX_BYTES = 2 ** 20;

/** Fetches a short JSON document over https. `ca`: the authorities to trust, in PEM; default: those of Node. */
async function fetchJson(url: string, ca: string | undefined): Promise<unknown> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const text = await new Promise<string>((resolve, reject) => {
    const request = get(url, { signal, headers: { accept: 'application/json' }, ...(ca !== undefined && { ca }) });
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      if (response.statusCode !== 200) request.destroy(new Error(`The status is ${response.statusCode}.`));
      response.on('data', (chunk: Uint8Array) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes > MAX_BYTES) request.destroy(new Error(`The response has more than ${MAX_BYTES} bytes.`));
      });
      response.on('error', reject);
      response.on('end', () => resolve(Buffer.concat(chunks).toString()));
    });
  });
  return JSON.parse(text);
}
