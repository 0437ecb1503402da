import type { Output } from './output.ts';

/** Shows on a terminal how far an upload is. */
export interface Progress {
  /** The same chunks, counted as they are taken. */
  track(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>;
  /** Takes what is shown away. It may be called again. */
  end(): void;
}

/** What a progress needs. */
export interface ProgressOptions {
  /** Nothing is shown where it is no terminal. */
  readonly output: Output;
  /** Undefined where it is not known before the end. */
  readonly totalBytes: number | undefined;
  /** Takes what is shown away when it is aborted. */
  readonly signal: AbortSignal;
}

/** How far something is. */
export interface Step {
  readonly bytes: number;
  readonly totalBytes: number | undefined;
  readonly seconds: number;
}

/** What is done sooner is never shown. */
const INTERVAL_MS = 200;
const MAX_BAR_WIDTH = 30;

/** Starts the clock. */
export function startProgress({ output, totalBytes, signal }: ProgressOptions): Progress {
  const startMs = performance.now();
  // One less: in the last column some terminals begin a new line.
  const width = (output.width ?? 0) - 1;
  let bytes = 0;
  let isShown = false;
  const show = (text: string): void => {
    isShown = text !== '';
    // Nobody looks at a terminal that is gone, and the upload goes on.
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

/** One line: a bar and a percentage where the size is known, bytes, and bytes a second. The bar takes what is left. */
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

/** A number of bytes in three digits and a unit of a power of 1000. */
export function formatBytes(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  const value = bytes / 1000 ** power;
  // Rounded down: what is not there yet is not shown.
  const digits = power === 0 || value >= 100 ? 0 : 1;
  return `${(Math.floor(value * 10 ** digits) / 10 ** digits).toFixed(digits)} ${UNITS[power]}`;
}
