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

const TOKEN_PATTERN = /^svc_([a-z0-9-]{8})_([A-Za-z0-9_-]{43})$/;
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

/** Parses the text of a token; undefined if it is not one. */
export function parseToken(text: string): Token | undefined {
  const [, id, secret] = TOKEN_PATTERN.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

/** Returns the hash of a secret as the callers file has it. The secret is random: it needs no salt and no slow hash. */
export function hashSecret(secret: string): string {
  return `sha256:${hash('sha256', secret, 'hex')}`;
}
