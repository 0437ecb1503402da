import { type ConsoleFiles, type ConsoleResponse, wantsPage } from '@svc/console';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { EndpointResponse, EndpointTable, HandlersOf, RequestContext } from '@svc/exec-http';
import { indexPage } from './index-page.ts';

/**
 * Handles `/`: the console for browsers, else the list of paths.
 * @param files undefined: there is no console
 */
export function indexHandlers(
  table: EndpointTable,
  files: ConsoleFiles | undefined,
  compression: boolean,
): HandlersOf<'GET'> {
  return {
    GET: async (context) => {
      if (files !== undefined && wantsPage(context.c.req.header('accept'))) {
        return toReply(await files.page(requestOf(context, compression)));
      }
      return {
        body: indexPage(table),
        headers: {
          'content-type': 'text/plain; charset=utf-8',
          ...(files && { vary: 'accept, accept-encoding' }),
        },
      };
    },
  };
}

/** Handles the files of the console. */
export function consoleHandlers(files: ConsoleFiles, compression: boolean): HandlersOf<'GET'> {
  return {
    GET: async (context) => {
      const name = context.c.req.param('file') ?? '';
      const file = await files.asset(name, requestOf(context, compression));
      if (file !== undefined) return toReply(file);
      throw new ServiceError('route_not_found', `There is no file ${quoted(name)} of the console.`, {
        hint: 'The console may be of another version: load its page again.',
      });
    },
  };
}

function requestOf({ c }: RequestContext, compression: boolean): Parameters<ConsoleFiles['page']>[0] {
  const acceptEncoding = compression ? c.req.header('accept-encoding') : undefined;
  return { acceptEncoding, ifNoneMatch: c.req.header('if-none-match') };
}

function toReply({ status, headers, body }: ConsoleResponse): EndpointResponse {
  return { status, headers, isPacked: true, ...(body && { body }) };
}
