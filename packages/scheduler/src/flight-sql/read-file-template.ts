import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { schedulerFailed } from '../scheduler-failed.ts';

/** Returns the table expression with which an engine reads a file, for the URI of the file. */
export type ReadFile = (uri: string) => string;

/**
 * Parses a template such as `read_parquet('{uri}')` or `` parquet.`{uri}` ``. `{uri}` stands once, inside of quotes; quotes in
 * a URI are doubled. Another text is `invalid_argument`.
 */
export function parseReadFile(template: string): ReadFile {
  const [before = '', after = '', ...more] = template.split(PLACEHOLDER);
  const quote = openQuote(before);
  if (!template.includes(PLACEHOLDER) || more.length > 0 || quote === undefined || !after.includes(quote)) {
    throw new ServiceError('invalid_argument', `${quoted(template)} does not say how to read a file.`, {
      hint: "Write an expression with '{uri}' in quotes once, for example read_parquet('{uri}') or parquet.`{uri}`.",
    });
  }
  return (uri) => {
    // Engines differ in whether a backslash escapes, so no text would mean the same file for all of them.
    if (uri.includes('\\')) {
      throw schedulerFailed('The location of a file has a backslash, which not every engine can read.', {
        hint: 'Write scheduler.frames_url without backslashes.',
      });
    }
    return `${before}${uri.replaceAll(quote, quote + quote)}${after}`;
  };
}

const PLACEHOLDER = '{uri}';

/** Returns the quote that a text leaves open, if any. */
function openQuote(text: string): string | undefined {
  let open: string | undefined;
  for (const character of text) {
    if (open === undefined && /['"`]/.test(character)) open = character;
    else if (character === open) open = undefined;
  }
  return open;
}
