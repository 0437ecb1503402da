import type { Service, SqlTarget } from '@svc/service';
import type { HandlersOf } from '../endpoint.ts';
import { jsonResponse } from '../json-response.ts';

/** Names of QuestDB that its clients read. Version 2 of the protocol has binary values. */
const LINES = { 'line.proto.support.versions': [1], 'cairo.max.file.name.length': 127 };

/**
 * Handles `/settings`: what clients of line protocol may send; and, if SQL runs over frames by default, what QuestDB's web
 * console asks for: an edition without users of its own, and preferences that cannot be changed. Clients of line protocol
 * ask without credentials, so the first part is for everyone; the version of the server is not.
 */
export function settingsHandlers(
  { version }: Service,
  defaultEngine: SqlTarget | undefined,
  hasCallers: boolean,
): HandlersOf<'GET'> {
  const edition = { 'release.type': 'OSS', 'release.version': version, 'http.settings.readonly': true };
  const settings =
    defaultEngine === 'local'
      ? { config: { ...edition, ...LINES, 'posthog.enabled': false }, 'preferences.version': 0, preferences: {} }
      : { config: LINES };
  return {
    GET: ({ call }) => jsonResponse(hasCallers && call.caller === undefined ? { config: LINES } : settings),
  };
}

/** Handles `/warnings`, which QuestDB's web console shows: there are none, because `/health` has the state of this server. */
export const WARNINGS_HANDLERS: HandlersOf<'GET'> = { GET: () => jsonResponse([]) };
