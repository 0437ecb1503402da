import type { Output } from './output.ts';
import { formatBytes, formatScaled, progressBar, startProgress, type Step } from './progress.ts';

/** A response that is written to a file. */
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

/** Counts the rows of a text format as its bytes arrive. */
interface RowCounter {
  /** Returns the number of rows up to the end of this chunk. */
  count(chunk: Uint8Array): number;
}

const NEWLINE = 0x0a;
const QUOTE = 0x22;

/** Creates a counter; undefined if the rows of the format cannot be counted without decoding them. */
export function createRowCounter(format: string): RowCounter | undefined {
  if (format !== 'csv' && format !== 'ndjson') return undefined;
  const isCsv = format === 'csv';
  // The first line of CSV is the header.
  let lines = isCsv ? -1 : 0;
  let isQuoted = false;
  return {
    count(chunk) {
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
