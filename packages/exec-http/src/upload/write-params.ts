import { nearestName, ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { parseQueryString } from '../query-string.ts';

/** The parameters that the methods of a path take, each method that writes with all of its own. */
export type WriteParams = Partial<Readonly<Record<'POST' | 'PUT' | 'PATCH' | 'DELETE', readonly string[]>>>;

/**
 * Refuses a parameter that the method does not take: `tll=60`, ignored, would keep a frame for good. Methods that are not
 * in the table ignore unknown parameters.
 */
export function checkWriteParams(request: { readonly method: string; readonly url: string }, table: WriteParams): void {
  const { method } = request;
  const known = new Map(Object.entries(table)).get(method);
  const unknown = known && parseQueryString(request.url).find(([name]) => !known.includes(name))?.[0];
  if (known === undefined || unknown === undefined) return;
  const nearest = nearestName(unknown, new Map(known.map((name) => [name, name])));
  throw new ServiceError('invalid_argument', `There is no parameter ${quoted(unknown)} of ${method} here.`, {
    hint: `${nearest === undefined ? '' : `Did you mean ${nearest}? `}${method} takes ${listed(known)} here.`,
  });
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'no parameters' : new Intl.ListFormat('en-GB', { type: 'conjunction' }).format(names);
}
