/**
 * A problem in the directory. `not_a_table`: a JSON file that is not an array is ignored. `not_released`: the lock of the
 * closed store stays until the next start.
 */
export interface StoreProblem {
  readonly kind:
    | 'damaged_frame'
    | 'unreadable_frame'
    | 'not_a_table'
    | 'unreadable_expiry'
    | 'unreadable_database'
    | 'not_removed'
    | 'no_checkpoint'
    | 'not_released';
  readonly tenant: string;
  readonly handle: string;
  readonly cause: unknown;
}
