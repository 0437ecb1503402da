/** A problem in the directory. `not_released`: the lock of the closed store stays until the next start. */
export interface StoreProblem {
  readonly kind:
    'damaged_frame' | 'unreadable_frame' | 'unreadable_expiry' | 'unreadable_database' | 'not_removed' | 'not_released';
  readonly tenant: string;
  readonly handle: string;
  readonly cause: unknown;
}
