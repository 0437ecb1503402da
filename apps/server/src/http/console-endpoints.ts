import { type ConsoleFiles, type ConsoleResponse, wantsPage } from '@svc/console';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { EndpointResponse, EndpointTable, HandlersOf, RequestContext } from '@svc/exec-http';

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

/** Returns the text of the page at `/`: one line for each use of each path. */
function indexPage(table: EndpointTable): string {
  const lines = Object.entries(table).flatMap(([path, { methods }]) =>
    Object.entries(methods).flatMap(([method, { uses }]) =>
      uses.map(({ request = path, gives }) => ({ request: `${method.padEnd(6)} ${request}`, gives })),
    ),
  );
  const width = Math.max(...lines.map(({ request }) => request.length));
  const list = lines.map(({ request, gives }) => `${request.padEnd(width)}  ${gives.replaceAll('`', '')}`);
  return `A data-frame server.\n\n${list.join('\n')}\n`;
}
