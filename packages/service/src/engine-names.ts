/** Who answers SQL over frames: this server, or others that a scheduler asks. */
export const ENGINE_NAMES = ['local', 'scheduler'] as const;

/** One of `ENGINE_NAMES`. */
export type EngineName = (typeof ENGINE_NAMES)[number];

/** Who can be sent SQL: the engines, and the time-series database, which knows no frames. */
export const SQL_TARGETS = [...ENGINE_NAMES, 'tsdb'] as const;

/** One of `SQL_TARGETS`. */
export type SqlTarget = (typeof SQL_TARGETS)[number];
