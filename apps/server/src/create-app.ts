import type { Config } from '@svc/config';
import { ServiceError } from '@svc/errors';
import { addEndpoint, answerRequest, createExecApp, type ExecEnv } from '@svc/exec-http';
import { quoted } from '@svc/frames';
import type { Service } from '@svc/service';
import { Hono } from 'hono';
import { cors } from 'hono/cors';
import { requestProblem } from './request-problem.ts';

const INDEX = `A data-frame server.

GET    /ping                                  ok
GET    /exec?handle=<handle>&fmt=json         a frame as a JSON table (limit, cols, quoteLargeNum, timings)
GET    /exec?query=<sql>&fmt=json             SQL, answered by the time-series database
GET    /frames                                the frames there are (prefix, after, limit)
GET    /frames/<handle>                       what is known of one
PUT    /frames/<handle>                       put or replace one: JSON rows or Arrow IPC (ttl)
PATCH  /frames/<handle>                       change how long it lives: {"ttl": 3600}
DELETE /frames/<handle>                       drop it
GET    /health                                the state of the server
`;

/** The whole HTTP side: the exec API, the page at `/`, and JSON errors for everything else. */
export function createApp(config: Config, service: Service): Hono<ExecEnv> {
  const { default_fmt: defaultFmt, max_rows: maxRows, compression, cors_origins: origins } = config.http;
  const app = new Hono<ExecEnv>();
  app.use(async (c, next) => {
    const problem = requestProblem(c.env.incoming);
    if (problem === undefined) return next();
    return answerRequest(c, service, () => {
      throw problem;
    });
  });
  if (origins !== undefined) {
    const exposeHeaders = ['etag', 'x-request-id', 'x-total-count'];
    app.use(cors({ origin: [...origins], allowMethods: ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'], exposeHeaders }));
  }
  addEndpoint(app, '/', service, {
    GET: () => ({ response: new Response(INDEX, { headers: { 'content-type': 'text/plain; charset=utf-8' } }) }),
  });
  app.route(
    '/',
    createExecApp({
      service,
      compression,
      ...(defaultFmt !== undefined && { defaultFmt }),
      ...(maxRows !== undefined && { maxRows }),
    }),
  );
  app.notFound((c) =>
    answerRequest(c, service, () => {
      throw new ServiceError('route_not_found', `There is nothing at ${quoted(c.req.path)}.`);
    }),
  );
  return app;
}
