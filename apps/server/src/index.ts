/**
 * The data-frame server as a program: settings, both listeners, signals.
 *
 * ```ts
 * import { runServer } from '@svc/server';
 *
 * process.exitCode = await runServer(process.argv.slice(2));
 * ```
 */
export { type ReadyAddresses, runServer, type RunOptions } from './run-server.ts';
