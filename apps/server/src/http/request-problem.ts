import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { ExecEnv } from '@svc/exec-http';

/** Finds a problem that Node accepts, but that would make the request look like another one. */
export function requestProblem(incoming: ExecEnv['Bindings']['incoming']): ServiceError | undefined {
  if (incoming === undefined) return undefined;
  if (incoming.headers.host === undefined && incoming.httpVersion === '1.1') {
    return new ServiceError('invalid_argument', 'The request has no Host header.', { hint: 'Send a Host header.' });
  }
  const path = (incoming.url ?? '').split('?', 1)[0] ?? '';
  // URL parsers remove dot segments before routing: /frames/.. would mean /.
  if (/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(path)) {
    return new ServiceError('invalid_argument', `The path ${quoted(path)} has a "." or ".." segment.`, {
      hint: 'Write the path without such segments.',
    });
  }
  return undefined;
}
