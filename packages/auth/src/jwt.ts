import { type Caller, type Permission, PERMISSIONS } from '@svc/frames';
import { hash } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify, type JWTVerifyGetKey } from 'jose';
import { isTenant } from './caller.ts';
import { unauthenticated } from './credentials.ts';
import { isUnknownKey, type KeySet } from './jwks.ts';
import type { Proof } from './proved-callers.ts';

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

/** Whether a credential has the form of a JWT. */
function isJwt(secret: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(secret);
}

/** Creates a verifier. It remembers verified JWTs until they expire or the keys change. */
export function createJwtVerifier(keys: KeySet, rules: JwtRules, now: () => number): JwtVerifier {
  const { issuer, audience } = rules;
  /** By the digest of the JWT, so that a dump of the memory has no list of them; in the order of their verification. */
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
