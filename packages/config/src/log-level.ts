import * as v from 'valibot';
import { choice } from './value-type.ts';

/** The log levels, from the most verbose to silent. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'off'] as const;

/** How much is logged. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A log level by its name or one of the names other loggers use for it. */
export const logLevel = choice(LOG_LEVELS, { warning: 'warn', fatal: 'error', silent: 'off' });

/**
 * Returns the global level of a filter such as `info,h2=warn`; undefined if it has none. A bare word that is not a level
 * names a module: the filter is meant for another program. If there are several levels, the last wins, as in Rust.
 */
export function levelFromRustLog(filter: string): string | undefined {
  const [directives = ''] = filter.split('/', 1);
  return directives
    .split(',')
    .map((directive) => directive.trim())
    .findLast((directive) => v.is(logLevel.schema, directive));
}
