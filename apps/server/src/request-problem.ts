import { quoted, ServiceError } from '@svc/errors';
import type { ExecEnv } from '@svc/exec-http';

/** What is wrong with a request that Node lets pass and that would be answered as if it were another one. */
export function requestProblem(incoming: ExecEnv['Bindings']['incoming']): ServiceError | undefined {
  if (incoming === undefined) return undefined;
  if (incoming.headers.host === undefined && incoming.httpVersion === '1.1') {
    return new ServiceError('invalid_argument', 'The request has no Host header.', { hint: 'Send a Host header.' });
  }
  const path = (incoming.url ?? '').split('?', 1)[0] ?? '';
  // URL parsers take dot segments away before a route is looked for: /frames/.. would mean /.
  if (/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(path)) {
    return new ServiceError('invalid_argument', `The path ${quoted(path)} has a "." or ".." part.`, {
      hint: 'Write the path without such parts.',
    });
  }
  return undefined;
}
