import type { Output } from './output.ts';

/** Shows the progress of a transfer on a terminal. */
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
  /** Formats the line. Default: that of an upload. */
  readonly line?: (step: Step, width: number) => string;
}

/** The state of a transfer. */
export interface Step {
  readonly bytes: number;
  readonly totalBytes: number | undefined;
  readonly seconds: number;
}

/** A shorter transfer shows no progress. */
const INTERVAL_MS = 200;
const MAX_BAR_WIDTH = 30;

/** Starts to show progress. */
export function startProgress({ output, totalBytes, signal, line = formatProgress }: ProgressOptions): Progress {
  const startMs = performance.now();
  // One less: some terminals wrap after the last column.
  const width = (output.width ?? 0) - 1;
  let bytes = 0;
  let isShown = false;
  const show = (text: string): void => {
    isShown = text !== '';
    // If the terminal is gone, the transfer continues.
    output.write(`\r${text.slice(0, width).padEnd(width)}\r`).catch(() => {});
  };
  const draw = (): void => {
    const seconds = (performance.now() - startMs) / 1000;
    show(line({ bytes, totalBytes, seconds }, width));
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
  return progressBar(bytes / totalBytes, `${formatBytes(bytes)} of ${formatBytes(totalBytes)}  ${rate}`, width);
}

/** Formats a bar for a share from 0 to 1, with the percentage and a text behind it. */
export function progressBar(share: number, text: string, width: number): string {
  const behind = `${String(Math.floor(share * 100)).padStart(3)} %  ${text}`;
  const barWidth = Math.max(0, Math.min(MAX_BAR_WIDTH, width - behind.length - 1));
  const filled = Math.floor(share * barWidth);
  return `${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)} ${behind}`;
}

const BYTE_UNITS = [' B', ' kB', ' MB', ' GB', ' TB'];

/** Formats a number of bytes with three digits and a decimal unit. */
export function formatBytes(bytes: number): string {
  return formatScaled(bytes, BYTE_UNITS);
}

/** Formats a number with three digits and one of the units, each a thousand times the one before. */
export function formatScaled(count: number, units: readonly string[]): string {
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, count)) / 3)));
  const value = count / 1000 ** power;
  // Rounded down: never shows more than was transferred.
  const digits = power === 0 || value >= 100 ? 0 : 1;
  return `${(Math.floor(value * 10 ** digits) / 10 ** digits).toFixed(digits)}${units[power]}`;
}
