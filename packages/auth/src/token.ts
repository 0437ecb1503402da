import { hash, randomBytes, randomInt } from 'node:crypto';

/** A token: `svc_`, its id, `_` and its secret. */
export interface Token {
  /** 8 characters. Not a secret: it names the token in the callers file and in the log. */
  readonly id: string;
  /** 256 random bits as 43 characters of base64url. */
  readonly secret: string;
}

/** The form of the id of a token. */
export const TOKEN_ID_PATTERN: RegExp = /^[a-z0-9-]{8}$/;

const PREFIX = 'svc_';
const ID_END = PREFIX.length + 8;
const TOKEN_LENGTH = ID_END + 1 + 43;
const SECRET_BYTES = 32;
/** Without letters and digits that look alike. */
const ID_CHARACTERS = 'abcdefghjkmnpqrstuvwxyz23456789';
const RANDOM_ID_LENGTH = 6;

/** Creates a random token. */
export function createToken(): Token {
  const characters = Array.from({ length: RANDOM_ID_LENGTH }, () => ID_CHARACTERS[randomInt(ID_CHARACTERS.length)]);
  return { id: `t-${characters.join('')}`, secret: randomBytes(SECRET_BYTES).toString('base64url') };
}

/** Returns the text of a token, as clients send it. */
export function formatToken({ id, secret }: Token): string {
  return `svc_${id}_${secret}`;
}

/**
 * Parses the text of a token; undefined if it is not one. It does not check the characters: a wrong one has no hash in the
 * callers file. No regular expression, because every request comes by here.
 */
export function parseToken(text: string): Token | undefined {
  if (text.length !== TOKEN_LENGTH || !text.startsWith(PREFIX) || text[ID_END] !== '_') return undefined;
  return { id: text.slice(PREFIX.length, ID_END), secret: text.slice(ID_END + 1) };
}

/** Returns the hash of a secret as the callers file has it. The secret is random: it needs no salt and no slow hash. */
export function hashSecret(secret: string): string {
  return `sha256:${hash('sha256', secret, 'hex')}`;
}

/** Whether a secret has a hash. Compares in constant time: all bytes, whichever of them differ. */
export function hasHash(secret: string, expected: Uint8Array): boolean {
  // A text, not a buffer for `timingSafeEqual`: creating that costs a request more than the hash.
  const digest = hash('sha256', secret, 'binary');
  let difference = digest.length ^ expected.length;
  for (let i = 0; i < digest.length; i++) difference |= digest.charCodeAt(i) ^ (expected[i] ?? 0);
  return difference === 0;
}
