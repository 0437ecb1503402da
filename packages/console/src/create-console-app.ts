import { type Context, Hono } from 'hono';
import { basePath } from 'hono/route';
import { type ConsoleResponse, createConsoleFiles } from './console-files.ts';
import { wantsPage } from './negotiation.ts';

const ASSETS = '/console/assets/';

/** Express changes the address of a request to the part below the mount. */
interface Env {
  readonly Bindings: { readonly incoming?: { readonly originalUrl?: string } };
}

/**
 * Creates the console as a Hono app, to mount where the API of `@svc/exec-http` is mounted. It answers the path of the mount,
 * for browsers, and `console/assets/` below it; every other request belongs to the host.
 */
export function createConsoleApp(): Hono<Env> {
  const files = createConsoleFiles();
  const app = new Hono<Env>();
  app.get('/*', async (c, next) => {
    const mount = basePath(c).replace(/\/$/, '');
    const path = c.req.path.slice(mount.length);
    const request = { acceptEncoding: c.req.header('accept-encoding'), ifNoneMatch: c.req.header('if-none-match') };
    if (path.startsWith(ASSETS)) {
      const asset = await files.asset(path.slice(ASSETS.length), request);
      return asset === undefined ? next() : toResponse(asset);
    }
    if ((path !== '' && path !== '/') || !wantsPage(c.req.header('accept'))) return next();
    return redirectToFolder(c) ?? toResponse(await files.page(request));
  });
  return app;
}

/** The addresses in the page are relative to a path with a slash at its end. */
function redirectToFolder({ req, env }: Context<Env>): Response | undefined {
  const { pathname, search } = new URL(env?.incoming?.originalUrl ?? req.url, req.url);
  if (pathname.endsWith('/')) return undefined;
  // Relative: a proxy may have removed the beginning of the path.
  const location = `./${pathname.slice(pathname.lastIndexOf('/') + 1)}/${search}`;
  return new Response(null, { status: 308, headers: { location, vary: 'accept' } });
}

function toResponse({ status, headers, body }: ConsoleResponse): Response {
  return new Response(body ?? null, { status, headers });
}
