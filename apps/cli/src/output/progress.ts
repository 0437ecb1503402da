import type { Output } from './output.ts';

/** Shows the progress of an upload on a terminal. */
export interface Progress {
  /** Yields the same chunks and counts their bytes. */
  track(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>;
  /** Clears the progress line. Idempotent. */
  end(): void;
}

/** Options of a progress line. */
export interface ProgressOptions {
  /** Shows nothing unless it is a terminal. */
  readonly output: Output;
  /** Undefined if it is not known in advance. */
  readonly totalBytes: number | undefined;
  /** Clears the progress line when aborted. */
  readonly signal: AbortSignal;
}

/** The state of an upload. */
export interface Step {
  readonly bytes: number;
  readonly totalBytes: number | undefined;
  readonly seconds: number;
}

/** A shorter upload shows no progress. */
const INTERVAL_MS = 200;
const MAX_BAR_WIDTH = 30;

/** Starts to show progress. */
export function startProgress({ output, totalBytes, signal }: ProgressOptions): Progress {
  const startMs = performance.now();
  // One less: some terminals wrap after the last column.
  const width = (output.width ?? 0) - 1;
  let bytes = 0;
  let isShown = false;
  const show = (text: string): void => {
    isShown = text !== '';
    // If the terminal is gone, the upload continues.
    output.write(`\r${text.slice(0, width).padEnd(width)}\r`).catch(() => {});
  };
  const draw = (): void => {
    const seconds = (performance.now() - startMs) / 1000;
    show(formatProgress({ bytes, totalBytes, seconds }, width));
  };
  const timer = output.width === undefined ? undefined : setInterval(draw, INTERVAL_MS);
  const end = (): void => {
    clearInterval(timer);
    signal.removeEventListener('abort', end);
    if (isShown) show('');
  };
  signal.addEventListener('abort', end, { once: true });
  return {
    async *track(chunks) {
      for await (const chunk of chunks) {
        yield chunk;
        bytes += chunk.length;
      }
    },
    end,
  };
}

/** Formats one line: a bar and a percentage if the size is known, bytes, and bytes per second. */
export function formatProgress({ bytes, totalBytes, seconds }: Step, width: number): string {
  const rate = `${formatBytes(seconds > 0 ? bytes / seconds : 0)}/s`;
  if (totalBytes === undefined) return `${formatBytes(bytes)}  ${rate}`;
  if (bytes >= totalBytes) return `100 %  ${formatBytes(bytes)} sent, waiting for the server`;
  const part = bytes / totalBytes;
  const percent = String(Math.floor(part * 100)).padStart(3);
  const text = `${percent} %  ${formatBytes(bytes)} of ${formatBytes(totalBytes)}  ${rate}`;
  const barWidth = Math.max(0, Math.min(MAX_BAR_WIDTH, width - text.length - 1));
  const filled = Math.floor(part * barWidth);
  return `${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)} ${text}`;
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** Formats a number of bytes with three digits and a decimal unit. */
export function formatBytes(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  const value = bytes / 1000 ** power;
  // Rounded down: never shows more than was sent.
  const digits = power === 0 || value >= 100 ? 0 : 1;
  return `${(Math.floor(value * 10 ** digits) / 10 ** digits).toFixed(digits)} ${UNITS[power]}`;
}
