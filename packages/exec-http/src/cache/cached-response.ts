/** A cached response body. */
export interface CachedResponse {
  readonly bytes: Uint8Array;
  /** The body with gzip, compressed on first use. */
  compressed(): Promise<Uint8Array>;
}
