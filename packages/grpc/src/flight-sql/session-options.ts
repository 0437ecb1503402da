import { flight } from '@svc/proto';
import { CATALOG, SCHEMA } from './catalogue-names.ts';

/** The options of every session. They can be set only to their current values, for clients that set them at startup. */
const OPTIONS: ReadonlyMap<string, string> = new Map([
  ['catalog', CATALOG],
  ['schema', SCHEMA],
]);

/** Sets options; the result lists those that cannot be set to the given value. */
export function setSessionOptions({ sessionOptions }: flight.SetSessionOptionsRequest): flight.SetSessionOptionsResult {
  const { INVALID_NAME, INVALID_VALUE } = flight.SetSessionOptionsResultErrorValue;
  const errors = new Map<string, flight.SetSessionOptionsResultError>();
  for (const [name, { stringValue }] of sessionOptions) {
    const value = OPTIONS.get(name);
    if (value === undefined) errors.set(name, { value: INVALID_NAME });
    else if (stringValue?.toLowerCase() !== value) errors.set(name, { value: INVALID_VALUE });
  }
  return { errors };
}

/** Returns the options of a session. */
export function readSessionOptions(): flight.GetSessionOptionsResult {
  const entries = [...OPTIONS].map(
    ([name, stringValue]) => [name, flight.SessionOptionValue.fromPartial({ stringValue })] as const,
  );
  return { sessionOptions: new Map(entries) };
}
