/** The engines for SQL over frames: this server, or others through a scheduler. */
export const ENGINE_NAMES = ['local', 'scheduler'] as const;

/** One of `ENGINE_NAMES`. */
export type EngineName = (typeof ENGINE_NAMES)[number];

/** The targets of SQL: the engines, and the time-series database, which has no frames. */
export const SQL_TARGETS = [...ENGINE_NAMES, 'tsdb'] as const;

/** One of `SQL_TARGETS`. */
export type SqlTarget = (typeof SQL_TARGETS)[number];
