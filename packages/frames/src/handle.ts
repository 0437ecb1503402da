import { ulid } from 'ulid';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';

declare const handleBrand: unique symbol;

/** The name of a frame inside a tenant: a string that passed `isHandle`. */
export type Handle = string & { readonly [handleBrand]: true };

/** The rule of a handle. */
export const HANDLE_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Whether a text is a valid handle. */
export function isHandle(text: string): text is Handle {
  return HANDLE_PATTERN.test(text);
}

/** Validates a handle from a client. Throws `invalid_argument` if it is not valid. */
export function parseHandle(text: string): Handle {
  if (isHandle(text)) return text;
  throw new ServiceError('invalid_argument', `${quoted(text)} is not a valid handle.`, {
    hint: 'A handle has 1 to 128 letters, digits, dots, dashes and underscores, and begins with a letter or digit.',
  });
}

/** Creates a unique handle: `f-` and a ULID in lower case. Handles sort by creation time. */
export function createHandle(): Handle {
  return parseHandle(`f-${ulid().toLowerCase()}`);
}
