import { ServiceError } from '@svc/errors';

/** The parameters of a request, in the order they came. */
export type Params = readonly (readonly [name: string, value: string])[];

/**
 * Reads the query string of a URL, strictly: a broken percent escape or bytes that are not UTF-8 are `invalid_argument`
 * instead of a guess.
 */
export function parseQueryString(url: string): Params {
  const start = url.indexOf('?');
  if (start < 0) return [];
  const end = url.indexOf('#', start);
  const parts = url.slice(start + 1, end < 0 ? undefined : end).split('&');
  return parts
    .filter((part) => part !== '')
    .map((part) => {
      const equals = part.indexOf('=');
      const [name, value] = equals < 0 ? [part, ''] : [part.slice(0, equals), part.slice(equals + 1)];
      return [decodePart(name), decodePart(value)] as const;
    });
}

/** Decodes percent escapes and UTF-8; with `plusIsSpace` off it reads a part of the path. */
export function decodePart(text: string, plusIsSpace = true): string {
  const spaced = plusIsSpace ? text.replaceAll('+', ' ') : text;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw new ServiceError(
      'invalid_argument',
      `The URL has a broken escape or text that is not UTF-8: ${shown(text)}.`,
      {
        hint: 'Percent-encode the UTF-8 bytes of every parameter, for example %C3%A9 for é and %25 for %.',
      },
    );
  }
}

function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
