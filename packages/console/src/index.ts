/**
 * The web console of the data-frame server.
 *
 * ```ts
 * import { serve } from '@hono/node-server';
 * import { createConsoleApp } from '@svc/console';
 * import { createExecApp } from '@svc/exec-http';
 * import { createMemoryStore } from '@svc/frames';
 * import { createService } from '@svc/service';
 * import { Hono } from 'hono';
 *
 * const app = new Hono();
 * app.route('/data', createExecApp({ service: createService({ store: createMemoryStore() }) }));
 * app.route('/data', createConsoleApp());
 * serve({ fetch: app.fetch, port: 8080 });
 * ```
 */
export { type ConsoleFiles, type ConsoleResponse, createConsoleFiles } from './console-files.ts';
export { createConsoleApp } from './create-console-app.ts';
export { wantsPage } from './negotiation.ts';
