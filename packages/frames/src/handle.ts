import { ulid } from 'ulid';
import { quoted, ServiceError } from '@svc/errors';

declare const handleBrand: unique symbol;

/** The name of a frame inside a tenant: a string that passed `isHandle`. */
export type Handle = string & { readonly [handleBrand]: true };

const HANDLE_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Whether a text can be a handle at all. */
export function isHandle(text: string): text is Handle {
  return HANDLE_PATTERN.test(text);
}

/** The handle a client chose for a new frame, or an error that says what a handle looks like. */
export function parseHandle(text: string): Handle {
  if (isHandle(text)) return text;
  throw new ServiceError('invalid_argument', `${quoted(text)} cannot be a handle.`, {
    hint: 'A handle has 1 to 128 letters, digits, dots, dashes and underscores, and begins with a letter or digit.',
  });
}

/** A handle that nobody has: `f-` and a ULID in lower case, so that later ones sort after earlier ones. */
export function createHandle(): Handle {
  return parseHandle(`f-${ulid().toLowerCase()}`);
}
