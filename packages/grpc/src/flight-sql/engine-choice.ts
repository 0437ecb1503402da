import type { EngineName } from '@svc/service';
import type { Metadata } from 'nice-grpc';
import { engineFrom } from '../query-messages.ts';

/** The metadata, and the cookie, that name the engine of the statements of a call. */
const ENGINE_KEY = 'svc-engine';

/** The engine of a client's statements. Clients return the cookie, so the server keeps no state of a session. */
export interface EngineChoice {
  readonly engine: EngineName;
  /** Sets the engine of the calls that follow, of clients that keep cookies; undefined: the default of the server. */
  remember(engine: EngineName | undefined): void;
}

/** Returns the engine of a call: that of its metadata, else that of its session, else the default. */
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
