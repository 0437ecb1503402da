import type { HonoRequest } from 'hono';
import type { NodeBindings } from './http-call.ts';

const NAME = 'authorization';

/**
 * Returns the `Authorization` header of a request. Several are joined, as in `Headers`, so that a proxy in front and this
 * server never take different ones. `Headers` of `@hono/node-server` copies all headers and scans the value, which costs
 * more than the check of a token.
 */
export function authorizationOf(
  request: Pick<HonoRequest, 'header'>,
  env: NodeBindings | undefined,
): string | undefined {
  if (env?.incoming === undefined) return request.header(NAME);
  const { rawHeaders } = env.incoming;
  let found: string | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length !== NAME.length || name.toLowerCase() !== NAME) continue;
    const value = rawHeaders[i + 1];
    found = found === undefined ? value : `${found}, ${value}`;
  }
  return found;
}
