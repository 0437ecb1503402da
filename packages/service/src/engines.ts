import { ERROR_CODES, ServiceError } from '@svc/errors';
import type { Engine } from '@svc/frames';

/** The engines for SQL over frames: this server, or others through a scheduler. */
export const ENGINE_NAMES = ['local', 'scheduler'] as const;

/** One of `ENGINE_NAMES`. */
export type EngineName = (typeof ENGINE_NAMES)[number];

/** The targets of SQL: the engines, and the time-series database. */
export const SQL_TARGETS = [...ENGINE_NAMES, 'tsdb'] as const;

/** One of `SQL_TARGETS`. */
export type SqlTarget = (typeof SQL_TARGETS)[number];

/** The configured engines. */
export type Engines = Readonly<Partial<Record<EngineName, Engine>>>;

/** Returns the names of the configured engines. */
export function namesOf(engines: Engines): readonly EngineName[] {
  return ENGINE_NAMES.filter((name) => engines[name] !== undefined);
}

/** Returns the default engine: the only one, else `local`. */
export function defaultOf(names: readonly EngineName[]): EngineName {
  return (names.length === 1 ? names[0] : undefined) ?? 'local';
}

/** Returns an engine; throws if it is not configured. */
export function engineOf(engines: Engines, name: EngineName): Engine {
  const engine = engines[name];
  if (engine === undefined) throw engineNotConfigured(name, namesOf(engines));
  return engine;
}

/** Returns the error of SQL for a missing engine; `engines` are the configured ones. */
export function engineNotConfigured(engine: SqlTarget, engines: readonly EngineName[]): ServiceError {
  switch (engine) {
    case 'tsdb': {
      const { hint } = ERROR_CODES.tsdb_not_configured;
      return new ServiceError('tsdb_not_configured', 'No time-series database is configured to send SQL to.', {
        hint: engines.includes('local') ? `${hint} Or send engine=local to query the frames of this server.` : hint,
      });
    }
    case 'scheduler':
      return new ServiceError('scheduler_not_configured', 'No scheduler is configured to send SQL to.');
    case 'local':
      return new ServiceError('invalid_argument', 'This server has no engine to run SQL over its frames.', {
        hint: 'Read frames by their handles.',
      });
    default:
      return engine satisfies never;
  }
}
