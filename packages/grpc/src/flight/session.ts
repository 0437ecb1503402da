import { parseAuthorization, unauthenticated } from '@svc/auth';
import type { Call } from '@svc/frames';
import { CATALOG, SCHEMA } from '@svc/frames/statements';
import { flight } from '@svc/proto';
import { ENGINE_NAMES, type EngineName, type Service } from '@svc/service';
import type { Metadata } from 'nice-grpc';
import { decodeRequest } from '../call/message-limits.ts';
import { engineFrom } from '../messages.ts';

/** The metadata, and the cookie, with the engine of the statements of a call. */
const ENGINE_KEY = 'svc-engine';

/** The engine of a client's statements. Clients return the cookie, so the server keeps no state of a session. */
export interface EngineChoice {
  readonly engine: EngineName;
  /** Sets the engine of later calls of a client with cookies; undefined: the default of the server. */
  remember(engine: EngineName | undefined): void;
}

/** Returns the engine of a call: from its metadata, else from its session, else the default. */
export function engineChoice(
  { metadata, header }: { readonly metadata: Metadata; readonly header: Metadata },
  defaultEngine: EngineName,
): EngineChoice {
  const named = metadata.get(ENGINE_KEY) ?? cookieOf(metadata) ?? '';
  return {
    engine: engineFrom(named) ?? defaultEngine,
    remember(engine) {
      header.append('set-cookie', engine === undefined ? `${ENGINE_KEY}=; Max-Age=0` : `${ENGINE_KEY}=${engine}`);
    },
  };
}

function cookieOf(metadata: Metadata): string | undefined {
  const pairs = metadata.getAll('cookie').flatMap((cookie) => cookie.split(';'));
  const found = pairs.map((pair) => pair.trim()).find((pair) => pair.startsWith(`${ENGINE_KEY}=`));
  return found?.slice(ENGINE_KEY.length + 1).replaceAll('"', '');
}

/** Options with fixed values, for clients that set them at startup. */
const FIXED: ReadonlyMap<string, string> = new Map([
  ['catalog', CATALOG],
  ['schema', SCHEMA],
]);

/** The option for the engine of statements. */
const ENGINE = 'engine';

/** Sets options; the result lists the refused ones. */
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

/** Returns the tokens of handshakes. The client sends them with all further calls. */
interface Handshake {
  /** The token in the metadata of an authenticated call; undefined if the metadata has none. */
  tokenOf(authorization: string | undefined): string | undefined;
  /** Checks a user and password in a message. Throws `unauthenticated` if they are wrong. */
  check(call: Call, payload: Uint8Array): Promise<string>;
}

/** The token of everyone if authentication is off. It has no effect. */
const ANONYMOUS_TOKEN = 'anonymous';

/** Creates the handshakes of a service. There are no sessions: the token is the password, and each call is authenticated. */
export function createHandshake({ authenticate, admit }: Pick<Service, 'admit' | 'authenticate'>): Handshake {
  if (authenticate === undefined) return { tokenOf: () => ANONYMOUS_TOKEN, check: async () => ANONYMOUS_TOKEN };
  return {
    tokenOf: (authorization) => (authorization === undefined ? undefined : parseAuthorization(authorization)),
    async check(call, payload) {
      const { password } = basicAuth(payload);
      // Any user is right. Its name may have a colon, but that would end it in Basic credentials.
      const authorization = `Basic ${Buffer.from(`:${password}`).toString('base64')}`;
      const caller = await authenticate({ authorization }, call);
      admit({ ...call, caller, tenant: caller.tenant });
      return password;
    },
  };
}

function basicAuth(payload: Uint8Array): flight.BasicAuth {
  try {
    return decodeRequest(flight.BasicAuth, payload);
  } catch {
    throw unauthenticated('The payload of the handshake is not a BasicAuth message.');
  }
}
