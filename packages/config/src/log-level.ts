import * as v from 'valibot';
import { choice } from './value-type.ts';

/** The log levels, from the most talkative to silence. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'off'] as const;

/** How much is logged. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A log level by its name or one of the names other loggers use for it. */
export const logLevel = choice(LOG_LEVELS, { warning: 'warn', fatal: 'error', silent: 'off' });

/**
 * The global level of a filter such as `info,h2=warn`. Undefined when it has none: a bare word that is no level names a
 * module, and the filter was then written for another program. The last of several wins, as it does in Rust.
 */
export function levelFromRustLog(filter: string): string | undefined {
  const [directives = ''] = filter.split('/', 1);
  return directives
    .split(',')
    .map((directive) => directive.trim())
    .findLast((directive) => v.is(logLevel.schema, directive));
}
