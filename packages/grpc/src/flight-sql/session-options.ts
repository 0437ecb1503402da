import { flight } from '@svc/proto';
import { ENGINE_NAMES } from '@svc/service';
import { CATALOG, SCHEMA } from '@svc/frames/statements';
import type { EngineChoice } from './engine-choice.ts';

/** The options that can be set only to their current values, for clients that set them at startup. */
const FIXED: ReadonlyMap<string, string> = new Map([
  ['catalog', CATALOG],
  ['schema', SCHEMA],
]);

/** The option that names the engine of statements. */
const ENGINE = 'engine';

/** Sets options; the result lists those that cannot be set to the given value. */
export function setSessionOptions(
  { sessionOptions }: flight.SetSessionOptionsRequest,
  choice: EngineChoice,
): flight.SetSessionOptionsResult {
  const { INVALID_NAME, INVALID_VALUE } = flight.SetSessionOptionsResultErrorValue;
  const errors = new Map<string, flight.SetSessionOptionsResultError>();
  for (const [name, { stringValue }] of sessionOptions) {
    const value = stringValue?.toLowerCase();
    if (name === ENGINE) {
      const engine = ENGINE_NAMES.find((one) => one === value);
      // An option without a value is unset.
      if (engine !== undefined || value === undefined || value === '') choice.remember(engine);
      else errors.set(name, { value: INVALID_VALUE });
    } else if (!FIXED.has(name)) errors.set(name, { value: INVALID_NAME });
    else if (value !== FIXED.get(name)) errors.set(name, { value: INVALID_VALUE });
  }
  return { errors };
}

/** Returns the options of a session. */
export function readSessionOptions({ engine }: EngineChoice): flight.GetSessionOptionsResult {
  const entries = [...FIXED, [ENGINE, engine] as const].map(
    ([name, stringValue]) => [name, flight.SessionOptionValue.fromPartial({ stringValue })] as const,
  );
  return { sessionOptions: new Map(entries) };
}
