const FIRST_MS = 150;
const MAX_MS = 30_000;

/** How long to wait before the next attempt: what the server asks for, else longer each time, at random. */
export function retryDelay(attempt: number, askedMs: number | undefined): number {
  return Math.min(askedMs ?? Math.random() * FIRST_MS * 2 ** (attempt + 1), MAX_MS);
}
