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
  /** Formats the line. Default: like an upload. */
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
function progressBar(share: number, text: string, width: number): string {
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
function formatScaled(count: number, units: readonly string[]): string {
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, count)) / 3)));
  const value = count / 1000 ** power;
  // Rounded down: never shows more than was transferred.
  const digits = power === 0 || value >= 100 ? 0 : 1;
  return `${(Math.floor(value * 10 ** digits) / 10 ** digits).toFixed(digits)}${units[power]}`;
}

/** A response on its way to a file. */
export interface Download {
  readonly response: { readonly headers: Headers; readonly body: AsyncIterable<Uint8Array> };
  /** Its format; a table is written from JSON. */
  readonly format: string;
  /** The rows to expect; undefined if not known. */
  readonly totalRows?: number | undefined;
  /** Where the rows go. */
  readonly output: Output;
  /** Shows the progress. */
  readonly stderr: Output;
  readonly signal: AbortSignal;
}

/** Calls `print` with the body. Shows its progress on a terminal if the rows go to a file. */
export async function withDownloadProgress(
  { response, format, totalRows, output, stderr, signal }: Download,
  print: (body: AsyncIterable<Uint8Array>, countRows: (rows: number) => void) => Promise<void>,
): Promise<void> {
  const { headers, body } = response;
  // Rows in a pipe may be shown by another program on this very terminal.
  if (stderr.width === undefined || output.isFile !== true) return print(body, () => {});
  const length = headers.get('content-length');
  const totalBytes = length === null || headers.has('content-encoding') ? undefined : Number(length);
  let rows: number | undefined;
  const line = (step: Step, width: number): string => formatDownload({ ...step, rows, totalRows }, width);
  const progress = startProgress({ output: stderr, totalBytes, signal, line });
  const counter = createRowCounter(format);
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of progress.track(body)) {
      if (counter !== undefined) rows = counter.count(chunk);
      yield chunk;
    }
  }
  try {
    await print(counted(), (more) => (rows = (rows ?? 0) + more));
  } finally {
    progress.end();
  }
}

/** The state of a download. */
export interface DownloadStep extends Step {
  /** Undefined if they are not counted. */
  readonly rows: number | undefined;
  readonly totalRows: number | undefined;
}

/** Formats one line: a bar if the end is known, bytes and rows, each with its rate. */
export function formatDownload({ bytes, totalBytes, rows, totalRows, seconds }: DownloadStep, width: number): string {
  const perSecond = (count: number): number => (seconds > 0 ? count / seconds : 0);
  const facts = [
    formatBytes(bytes) + (totalBytes === undefined ? '' : ` of ${formatBytes(totalBytes)}`),
    `${formatBytes(perSecond(bytes))}/s`,
    ...(rows === undefined
      ? []
      : [
          `${formatRows(rows)}${totalRows === undefined ? '' : ` of ${formatRows(totalRows)}`} rows`,
          `${formatRows(perSecond(rows))} rows/s`,
        ]),
  ].join('  ');
  const share = rows !== undefined && totalRows ? rows / totalRows : totalBytes ? bytes / totalBytes : undefined;
  return share === undefined ? facts : progressBar(Math.min(1, share), facts, width);
}

const ROW_UNITS = ['', ' k', ' M', ' G', ' T'];

function formatRows(rows: number): string {
  return formatScaled(rows, ROW_UNITS);
}

const NEWLINE = 0x0a;
const QUOTE = 0x22;

/** Creates a counter; undefined if the rows of the format cannot be counted without decoding them. */
export function createRowCounter(format: string) {
  if (format !== 'csv' && format !== 'ndjson') return undefined;
  const isCsv = format === 'csv';
  // The first line of CSV is the header.
  let lines = isCsv ? -1 : 0;
  let isQuoted = false;
  return {
    /** Returns the number of rows up to the end of this chunk. */
    count(chunk: Uint8Array): number {
      if (isCsv && (isQuoted || chunk.includes(QUOTE))) {
        for (const byte of chunk) {
          if (byte === QUOTE) isQuoted = !isQuoted;
          else if (byte === NEWLINE && !isQuoted) lines += 1;
        }
      } else {
        for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) lines += 1;
      }
      return Math.max(0, lines);
    },
  };
}
