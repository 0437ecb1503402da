/** How long the server took until the first rows, in milliseconds. */
export interface ServerTiming {
  /** The wait for a free engine. */
  readonly queueMs: number;
  readonly executeMs: number;
}

/** Returns the timings in a `Server-Timing` header; undefined if it has none of the server's own. */
export function parseServerTiming(header: string | null): ServerTiming | undefined {
  const queueMs = durationOf(header, 'queue');
  const executeMs = durationOf(header, 'execute');
  return executeMs === undefined ? undefined : { queueMs: queueMs ?? 0, executeMs };
}

/** The server's own entries follow those of the database, so the last one counts. */
function durationOf(header: string | null, name: string): number | undefined {
  const entries = (header ?? '').split(',').map((entry) => entry.trim().split(/\s*;\s*/));
  const entry = entries.findLast(([first]) => first === name);
  const text = entry?.find((part) => part.startsWith('dur='))?.slice('dur='.length);
  const value = Number(text);
  return text === undefined || text === '' || !Number.isFinite(value) ? undefined : value;
}
