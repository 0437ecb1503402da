/** The limits of a tenant. What is undefined is not limited. */
export interface TenantLimits {
  /** The bytes of its frames on disk. */
  readonly maxBytes?: number | undefined;
  /** The number of its frames. */
  readonly maxFrames?: number | undefined;
  /** The number of SQL statements that run at the same time. */
  readonly maxQueries?: number | undefined;
  /** How long the result of a statement may be read, from its first rows, in milliseconds. */
  readonly maxResultMs?: number | undefined;
  /** The bytes of the result of a statement. */
  readonly maxResultBytes?: number | undefined;
  /** The rate of its requests; the burst is one second's worth, and at least one request. */
  readonly requestsPerSecond?: number | undefined;
}
