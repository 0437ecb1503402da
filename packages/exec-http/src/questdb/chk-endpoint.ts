import { ServiceError } from '@svc/errors';
import { isHandle } from '@svc/frames';
import type { Service } from '@svc/service';
import { type HandlersOf, methodNotAllowed } from '../endpoint.ts';
import { chkTarget, type ExecRules, parseChkRequest } from '../exec-request.ts';
import type { HttpCall } from '../http-call.ts';
import { jsonResponse } from '../json-response.ts';
import { parseQueryString } from '../query-string.ts';

/** The answers of QuestDB. Its console offers no import under a reserved name. */
type Existence = 'Exists' | 'Does not exist' | 'Reserved name';

/** Handles `/chk`: says whether a frame exists if SQL runs over frames by default; else asks the database. */
export function chkHandlers(service: Service, rules: ExecRules): HandlersOf<'GET'> {
  async function existenceOf(call: HttpCall, handle: string): Promise<Existence> {
    if (!isHandle(handle)) return 'Reserved name';
    try {
      await service.describeFrame(call, handle);
      return 'Exists';
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'handle_not_found') return 'Does not exist';
      throw error;
    }
  }

  return {
    GET: async ({ c, call }) => {
      const params = parseQueryString(c.req.url);
      const isLocal = chkTarget(params, rules) === 'local' && rules.defaultEngine === 'local';
      service.authorize(call, isLocal ? 'describeFrame' : 'forward');
      if (!isLocal && c.req.method === 'HEAD') {
        return methodNotAllowed('HEAD is not forwarded to the database.', ['GET']);
      }
      const request = parseChkRequest(params, rules);
      if (request.kind === 'forward') {
        return { forwarded: await service.forward(call, { path: '/chk', params: request.params }) };
      }
      const status = await existenceOf(call, request.handle);
      if (request.isJson) return jsonResponse({ status });
      return { headers: { 'content-type': 'text/plain; charset=utf-8' }, body: `${status}\r\n` };
    },
  };
}
