const FIRST_MS = 150;
const MAX_MS = 30_000;

/** How long to wait before the next attempt: what the server asks for, else longer each time, at random. */
export function retryDelay(attempt: number, retryAfter: string | null | undefined): number {
  const asked = Number(retryAfter ?? Number.NaN) * 1000;
  return Math.min(asked >= 0 ? asked : Math.random() * FIRST_MS * 2 ** (attempt + 1), MAX_MS);
}
